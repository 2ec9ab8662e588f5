#include <cooperative_groups.h>
#include <cuda/pipeline>

__device__ float work(const float *tile, int at);

#pragma nv_diag_suppress static_var_with_dynamic_init

__global__ void stages(const float *in, float *out, int tiles) {
  __shared__ float tile[2][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cooperative_groups::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int i = 0, next = 0; i < tiles; i++) {
    for (; next < tiles && next < i + 2; next++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, tile[next % 2], in + next * 128, sizeof(float) * 128, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    out[i * 128 + threadIdx.x] = work(tile[i % 2], threadIdx.x);
    pipe.consumer_release();
  }
}
