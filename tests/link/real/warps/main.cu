__device__ unsigned groups(int value);
__global__ void warps(int *data) {
  int value = data[threadIdx.x];
  for (int step = 16; step; step >>= 1) value += __shfl_down_sync(~0u, value, step);
  if (__any_sync(~0u, value > 5)) value += __ballot_sync(~0u, value & 1);
  data[threadIdx.x] = value + groups(value) + __activemask();
  __nanosleep(20);
}
