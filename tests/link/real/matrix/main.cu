__global__ void multiply(const float *a, const float *b, float *c, int n) {
  __shared__ float x[16][16], y[16][17];
  float sum = 0;
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  for (int tile = 0; tile < n; tile += 16) {
    x[threadIdx.y][threadIdx.x] = a[row * n + tile + threadIdx.x];
    y[threadIdx.y][threadIdx.x] = b[(tile + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; k++) sum += x[threadIdx.y][k] * y[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
