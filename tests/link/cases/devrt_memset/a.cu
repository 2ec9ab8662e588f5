__device__ void clear(int *p, size_t n) { cudaMemsetAsync(p, 0, n, 0); }
extern "C" __global__ void k(int *p, int n) { clear(p, n * 4); }
extern "C" __global__ void k2(int *p, long a, long b, long c) { cudaMemcpyAsync(p, p + a, b * c, cudaMemcpyDeviceToDevice, 0); }
extern "C" __global__ void k3(int *p) { p[0] = 1; }
