#include <cuda/latch>
#include <cuda/semaphore>

__device__ cuda::binary_semaphore<cuda::thread_scope_device> gate(1);
__device__ int shared_sum(int *, int);

__global__ void one_at_a_time(int *data) {
  if (threadIdx.x == 0) {
    gate.acquire();
    data[0] = shared_sum(data, 4);
    gate.release();
  }
}
