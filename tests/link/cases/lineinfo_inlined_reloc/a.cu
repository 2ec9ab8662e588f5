__device__ int used(int x);
__device__ __forceinline__ int twice(int x) { return x * x + 7; }
__global__ void k(int *p) { p[0] = used(p[1]) + twice(p[2]); }
