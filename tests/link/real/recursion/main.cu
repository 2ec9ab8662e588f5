__device__ int even(int n);
__device__ int odd(int n) { return n == 0 ? 0 : even(n - 1); }
__device__ unsigned ackermann(unsigned m, unsigned n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__global__ void recurse(int *out) { out[0] = odd(out[1]) + ackermann(out[2], out[3]); }
