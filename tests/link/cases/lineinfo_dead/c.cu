__device__ __noinline__ int onlydead(int x) { return x * 9; }
__device__ __noinline__ int onlydead2(int x) { return x * 11; }
