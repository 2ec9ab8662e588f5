#include "common.h"
__device__ int f6(int x) { return x > 5 ? f5(x - 1) : mix(x, x); }
