#include "common.h"
__device__ int f4(int x) {
  __shared__ int tile[16];
  tile[x & 15] = x;
  __syncthreads();
  return tile[0] + f3(x);
}
