#include "common.h"
__device__ int f1(int x) { return mix(f2(x), f3(x)); }
