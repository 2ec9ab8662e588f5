__device__ unsigned long long divide(unsigned long long, unsigned long long);
__global__ void integers(unsigned long long *data, __int128 *wide) {
  data[0] = divide(data[1], data[2]) + __mul64hi(data[3], data[4]) + __clzll(data[5]);
  wide[0] = wide[1] / wide[2] + wide[3] % 1000;
}
