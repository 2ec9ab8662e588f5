__device__ int weight(int value) {
  switch (value & 7) {
    case 0: return value * 3;
    case 1: return value ^ 0x55;
    case 2: return value - 7;
    case 3: return value / 11;
    case 4: return __popc(value);
    case 5: return value % 13;
    case 6: return __brev(value);
    default: return -value;
  }
}
