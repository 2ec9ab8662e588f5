__device__ int decide(int what, int value) {
  switch (what & 15) {
    case 0: return value + 1;
    case 1: return value * value;
    case 2: return value / 3;
    case 3: return __ffs(value);
    case 4: return __clz(value);
    case 5: return value << 3;
    case 6: return ~value;
    case 7: return value % 9;
    case 8: return __brev(value);
    case 9: return clock();
    default: return what;
  }
}
