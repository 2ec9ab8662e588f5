#include <curand_kernel.h>

__global__ void points(curandDirectionVectors32_t *directions, float *out) {
  curandStateSobol32 state;
  curand_init(directions[0], threadIdx.x, &state);
  out[threadIdx.x] = curand_uniform(&state) + curand_normal(&state);
}
