#include <cuComplex.h>

__device__ int escapes(cuDoubleComplex c, int limit);
__global__ void picture(unsigned char *out, int width, int limit) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  out[y * width + x] = escapes(make_cuDoubleComplex(x * 3.0 / width - 2, y * 2.0 / width - 1), limit);
}
