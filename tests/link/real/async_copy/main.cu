#include <cuda_pipeline.h>

__device__ float use(const float4 *tile);
__global__ void copies(const float4 *in, float *out) {
  __shared__ float4 tile[64];
  __pipeline_memcpy_async(tile + threadIdx.x, in + threadIdx.x, sizeof(float4));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = use(tile);
}
