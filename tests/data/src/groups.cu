// Cooperative groups: tiles, coalesced groups, grid-wide synchronisation.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void tiles(int *data)
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int value = data[threadIdx.x];
    for (int step = 4; step; step /= 2) value += tile.shfl_down(value, step);
    if (value & 1) {
        auto active = cg::coalesced_threads();
        value += active.shfl(value, 0) + active.size();
    }
    data[threadIdx.x] = value;
}
__global__ void grid_wide(int *data)
{
    data[blockIdx.x] = 1;
    cg::this_grid().sync();
    data[blockIdx.x] += data[0];
}
