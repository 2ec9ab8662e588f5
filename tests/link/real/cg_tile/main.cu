#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;
__device__ int vote(cg::thread_block_tile<16> tile, int value);

__global__ void tiles(int *data) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  auto half = cg::tiled_partition<16>(block);
  int value = data[block.thread_rank()];
  value += cg::reduce(tile, value, cg::plus<int>());
  value += cg::inclusive_scan(half, value, cg::bit_xor<int>());
  value += vote(half, value);
  data[block.thread_rank()] = tile.shfl_xor(value, 5);
}
