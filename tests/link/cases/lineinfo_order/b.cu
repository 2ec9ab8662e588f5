static __device__ __noinline__ int st(int x) { return x * 13; }
__device__ __noinline__ int g2(int x) { return st(x) * 5; }
__device__ __noinline__ int g1(int x) { return x * 3; }
template <int N> __device__ __noinline__ int wk(int x) { return x * N; }
__device__ __noinline__ int g3(int x) { return g1(x) * 7 + wk<4>(x); }
