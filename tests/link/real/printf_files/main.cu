#include <cstdio>

__device__ void say(int who, double what);
__global__ void hello(int n) {
  printf("block %d of %d\n", blockIdx.x, n);
  say(threadIdx.x, n * 0.5);
}
