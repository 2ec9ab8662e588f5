#include <curand_kernel.h>

__device__ unsigned events(curandStateMRG32k3a *state, double rate) { return curand_poisson(state, rate); }
