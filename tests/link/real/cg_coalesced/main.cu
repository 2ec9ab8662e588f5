#include <cooperative_groups.h>

namespace cg = cooperative_groups;
__device__ int reserve(int *counter);

__global__ void filter(const int *in, int *out, int *counter, int count) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count && in[at] > 0) out[reserve(counter)] = in[at];
}
