#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__device__ int vote(cg::thread_block_tile<16> tile, int value) {
  auto same = cg::labeled_partition(tile, value & 3);
  return tile.any(value > 100) + tile.ballot(value & 1) + same.size();
}
