__device__ float special(float);
__global__ void mathematics(float *data) {
  float x = data[threadIdx.x];
  data[threadIdx.x] = sinf(x) * tanf(x) + powf(x, 0.3f) / special(x) + __expf(x) + fmodf(x, 2.f) + sqrtf(x);
}
