#include <mma.h>

using namespace nvcuda;
__global__ void bytes(const signed char *a, const signed char *b, int *c) {
  wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::col_major> y;
  wmma::fragment<wmma::accumulator, 32, 8, 16, int> sum;
  wmma::fill_fragment(sum, 1);
  wmma::load_matrix_sync(x, a, 16);
  wmma::load_matrix_sync(y, b, 16);
  wmma::mma_sync(sum, x, y, sum);
  wmma::store_matrix_sync(c, sum, 8, wmma::mem_row_major);
}
