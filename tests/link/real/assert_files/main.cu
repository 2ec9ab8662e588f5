#include <cassert>

__device__ int checked(int value);
__global__ void check(int *data) {
  assert(data[threadIdx.x] > 0 && "positive");
  data[threadIdx.x] = checked(data[threadIdx.x]);
}
