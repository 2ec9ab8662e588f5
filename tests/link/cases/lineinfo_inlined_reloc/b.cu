__device__ __forceinline__ int thrice(int x) { return x * 3 + 5; }
__device__ __noinline__ int used(int x) { return thrice(x) ^ 5; }
