#include <cuda/atomic>

__device__ void publish(int *flag, int value) {
  cuda::atomic_ref<int, cuda::thread_scope_system> there(*flag);
  cuda::atomic_thread_fence(cuda::std::memory_order_seq_cst, cuda::thread_scope_system);
  int expected = 0;
  while (!there.compare_exchange_weak(expected, value, cuda::std::memory_order_release,
                                      cuda::std::memory_order_relaxed))
    expected = 0;
}
