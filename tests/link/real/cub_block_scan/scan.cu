#include <cub/block/block_scan.cuh>

__device__ int weight(int value);

__global__ void prefix(const int *in, int *out, int count) {
  using Scan = cub::BlockScan<int, 256>;
  __shared__ typename Scan::TempStorage storage;
  int at = blockIdx.x * 256 + threadIdx.x, total;
  int value = at < count ? weight(in[at]) : 0;
  Scan(storage).ExclusiveSum(value, value, total);
  if (at < count) out[at] = value + total;
}
