__device__ float at(const float *grid, int x, int y, int width);
__global__ void stencil(const float *in, float *out, int width, int height) {
  __shared__ float tile[18][18];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  tile[threadIdx.y + 1][threadIdx.x + 1] = at(in, x, y, width);
  if (threadIdx.x == 0) tile[threadIdx.y + 1][0] = at(in, x - 1, y, width);
  if (threadIdx.x == 15) tile[threadIdx.y + 1][17] = at(in, x + 1, y, width);
  if (threadIdx.y == 0) tile[0][threadIdx.x + 1] = at(in, x, y - 1, width);
  if (threadIdx.y == 15) tile[17][threadIdx.x + 1] = at(in, x, y + 1, width);
  __syncthreads();
  if (x >= width || y >= height) return;
  float sum = 0;
#pragma unroll
  for (int dy = 0; dy < 3; dy++)
    for (int dx = 0; dx < 3; dx++) sum += tile[threadIdx.y + dy][threadIdx.x + dx];
  out[y * width + x] = sum / 9;
}
