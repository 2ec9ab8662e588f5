#include <curand_kernel.h>

__device__ unsigned events(curandStateMRG32k3a *, double);

__global__ void count(unsigned *out, double rate) {
  curandStateMRG32k3a state;
  curand_init(5, threadIdx.x, 0, &state);
  out[threadIdx.x] = events(&state, rate);
}
