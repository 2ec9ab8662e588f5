extern __shared__ char pool[];
__device__ __noinline__ int f(int x) {
  __shared__ int s[32];
  s[threadIdx.x & 31] = x;
  return s[(threadIdx.x + 1) & 31];
}
__global__ void ka(float* o) { o[1] = f(1) + pool[2]; }
__global__ void kb(float* o) { o[1] = f(2); }
