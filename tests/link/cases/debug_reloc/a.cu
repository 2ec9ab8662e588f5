__device__ int used(int x);
__device__ __noinline__ int dead1(int x) { int s = 0; for (int i = 0; i < x; i++) s += x * i; return s; }
__device__ __noinline__ int live(int x) { return x * 3 + 1; }
__global__ void k(int *p) {
  p[0] = used(p[1]) + live(p[2]);
}
__device__ __noinline__ int dead2(int x) { return live(x) + 5; }
