#include <curand_kernel.h>

__global__ void scrambled(curandDirectionVectors64_t *directions, double *out) {
  curandStateScrambledSobol64 state;
  curand_init(directions[0], 17ull, threadIdx.x, &state);
  out[threadIdx.x] = curand_log_normal_double(&state, 0.0, 1.0);
}
