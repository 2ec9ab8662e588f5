#include <cub/block/block_histogram.cuh>

__global__ void bins(const unsigned char *samples, int *out) {
  using Sorting = cub::BlockHistogram<unsigned char, 128, 4, 256, cub::BLOCK_HISTO_SORT>;
  using Adding = cub::BlockHistogram<unsigned char, 128, 4, 256, cub::BLOCK_HISTO_ATOMIC>;
  __shared__ union {
    typename Sorting::TempStorage sorting;
    typename Adding::TempStorage adding;
  } storage;
  __shared__ int counts[256];
  unsigned char mine[4];
  for (int i = 0; i < 4; i++) mine[i] = samples[threadIdx.x * 4 + i];
  Sorting(storage.sorting).Histogram(mine, counts);
  __syncthreads();
  Adding(storage.adding).Composite(mine, counts);
  __syncthreads();
  out[threadIdx.x] = counts[threadIdx.x];
}
