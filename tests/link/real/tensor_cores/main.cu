#include <mma.h>

using namespace nvcuda;
__device__ float after(float);
__global__ void multiply(const half *a, const half *b, float *c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> y;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.f);
  for (int i = 0; i < 4; i++) {
    wmma::load_matrix_sync(x, a + i * 16, 64);
    wmma::load_matrix_sync(y, b + i * 16, 64);
    wmma::mma_sync(sum, x, y, sum);
  }
  for (int i = 0; i < sum.num_elements; i++) sum.x[i] = after(sum.x[i]);
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}
