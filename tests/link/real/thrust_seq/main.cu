#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

__device__ bool before(int a, int b);

struct Before {
  __device__ bool operator()(int a, int b) const { return before(a, b); }
};

__global__ void rows(int *data, int *sums, int width) {
  int *row = data + (blockIdx.x * blockDim.x + threadIdx.x) * width;
  thrust::sort(thrust::seq, row, row + width, Before{});
  sums[threadIdx.x] = thrust::reduce(thrust::seq, row, row + width, 0);
}
