__device__ int decide(int what, int value);
__global__ void machine(const int *codes, int *out, int count) {
  int state = 0;
  for (int i = 0; i < count; i++) {
    switch (codes[i]) {
      case 0: state = decide(state, i); break;
      case 1: state += i; break;
      case 2: state ^= codes[(i + 1) % count]; break;
      case 3: state = __popc(state); break;
      case 4: state *= 7; break;
      case 5: out[i] = state; break;
      case 6: state = atomicAdd(out, state); break;
      case 7: __syncwarp(); state--; break;
      case 8: state = __shfl_sync(~0u, state, 0); break;
      default: return;
    }
  }
  out[threadIdx.x] = state;
}
