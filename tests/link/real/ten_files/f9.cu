#include "common.h"
__device__ int seen[8] = {8, 7, 6, 5, 4, 3, 2, 1};
__device__ int unused(int x) { return mix(x, seen[0]); }
