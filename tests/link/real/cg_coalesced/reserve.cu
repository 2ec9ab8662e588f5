#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__device__ int reserve(int *counter) {
  auto active = cg::coalesced_threads();
  int first = 0;
  if (active.thread_rank() == 0) first = atomicAdd(counter, active.size());
  return active.shfl(first, 0) + active.thread_rank();
}
