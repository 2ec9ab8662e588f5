__device__ __noinline__ int used(int x) { return x ^ 5; }
__device__ __noinline__ int deadb(int x) {
   return x + 7;
}
