// Small and ordinary: built with -lineinfo and with full debug information.
#include <cstdio>
template <typename T> __device__ __forceinline__ T clamp(T value, T low, T high)
{
    return value < low ? low : value > high ? high : value;
}
__constant__ float weights[16] = {1, 2, 3, 4};
__device__ __noinline__ float weighted(float x, int i) { return clamp(x * weights[i & 15], 0.f, 1.f); }
__global__ void saxpy(int n, float a, const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ float tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x & 63] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n) y[i] = a * weighted(tile[63 - (threadIdx.x & 63)], i) + y[i];
}
__global__ void report(const float *y, int n)
{
    for (int i = 0; i < n; ++i)
        if (y[i] < 0) printf("%d: %f\n", i, y[i]);
}
