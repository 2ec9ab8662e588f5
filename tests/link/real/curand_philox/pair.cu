#include <curand_kernel.h>

__device__ double2 pair(curandStatePhilox4_32_10_t *state) { return curand_normal2_double(state); }
