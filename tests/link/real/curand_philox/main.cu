#include <curand_kernel.h>

__device__ double2 pair(curandStatePhilox4_32_10_t *);

__global__ void draw(double *out, unsigned long long seed) {
  curandStatePhilox4_32_10_t state;
  curand_init(seed, threadIdx.x, 0, &state);
  double2 two = pair(&state);
  out[threadIdx.x] = two.x * two.y;
}
