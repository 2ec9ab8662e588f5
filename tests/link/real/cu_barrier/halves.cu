__device__ void halves(float *tile, int step) {
  if (threadIdx.x < step) tile[threadIdx.x] += tile[threadIdx.x + step];
}
