#include <cuda/barrier>

using Barrier = cuda::barrier<cuda::thread_scope_block>;
__device__ void halves(float *tile, int step);

#pragma nv_diag_suppress static_var_with_dynamic_init

__global__ void pairs(const float *in, float *out) {
  __shared__ Barrier barrier;
  __shared__ float tile[256];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  tile[threadIdx.x] = in[threadIdx.x];
  barrier.arrive_and_wait();
  for (int step = 128; step; step >>= 1) {
    halves(tile, step);
    barrier.wait(barrier.arrive());
  }
  out[threadIdx.x] = tile[0];
}
