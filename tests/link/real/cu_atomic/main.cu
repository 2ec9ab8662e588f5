#include <cuda/atomic>

__device__ cuda::atomic<int, cuda::thread_scope_device> total;
__device__ cuda::atomic<unsigned long long, cuda::thread_scope_system> wide;
__device__ void publish(int *flag, int value);

__global__ void count(int *flags, float *floats) {
  cuda::atomic_ref<int, cuda::thread_scope_block> mine(flags[blockIdx.x]);
  mine.fetch_add(1, cuda::std::memory_order_relaxed);
  total.fetch_max(int(threadIdx.x), cuda::std::memory_order_acq_rel);
  wide.fetch_add(7);
  cuda::atomic_ref<float, cuda::thread_scope_device> sum(*floats);
  sum.fetch_add(1.5f);
  publish(flags + 1, total.load(cuda::std::memory_order_acquire));
}
