#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

__device__ double refine(double);

__global__ void warps(const double *in, double *out) {
  using Reduce = cub::WarpReduce<double>;
  using Scan = cub::WarpScan<int>;
  __shared__ typename Reduce::TempStorage reduce[4];
  __shared__ typename Scan::TempStorage scan[4];
  int warp = threadIdx.x / 32, rank;
  double sum = Reduce(reduce[warp]).Sum(refine(in[threadIdx.x]));
  Scan(scan[warp]).InclusiveSum(int(sum), rank);
  out[threadIdx.x] = sum + rank;
}
