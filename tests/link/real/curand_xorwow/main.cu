#include <curand_kernel.h>

__device__ float shape(float);

__global__ void seed(curandState *states, unsigned long long value) {
  curand_init(value, threadIdx.x, 0, states + threadIdx.x);
}

__global__ void draw(curandState *states, float *out) {
  curandState state = states[threadIdx.x];
  out[threadIdx.x] = shape(curand_uniform(&state)) + curand_normal(&state);
  states[threadIdx.x] = state;
}
