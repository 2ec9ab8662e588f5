#include <cooperative_groups.h>

__device__ int remote(int *mine, int rank) {
  return *cooperative_groups::this_cluster().map_shared_rank(mine, rank);
}
