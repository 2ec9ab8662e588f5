#include <cooperative_groups.h>

namespace cg = cooperative_groups;
__device__ void step(float *data, int at, int count);

__global__ void iterate(float *data, int count, int steps) {
  cg::grid_group grid = cg::this_grid();
  for (int i = 0; i < steps; i++) {
    for (int at = grid.thread_rank(); at < count; at += grid.size()) step(data, at, count);
    grid.sync();
  }
}
