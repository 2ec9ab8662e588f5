__device__ double special(double, int);
__global__ void mathematics(double *data) {
  double x = data[threadIdx.x];
  data[threadIdx.x] = sin(x) + pow(x, 1.5) + special(x, threadIdx.x) + fmod(x, 3.0) + erf(x) + cbrt(x);
}
