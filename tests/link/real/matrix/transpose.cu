template <class T>
__global__ void transpose(const T *in, T *out, int n) {
  __shared__ T tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x;
  for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = in[(blockIdx.y * 32 + threadIdx.y + i) * n + x];
  __syncthreads();
  for (int i = 0; i < 32; i += 8) out[(blockIdx.x * 32 + threadIdx.y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}
template __global__ void transpose<float>(const float *, float *, int);
template __global__ void transpose<double>(const double *, double *, int);
template __global__ void transpose<char>(const char *, char *, int);
