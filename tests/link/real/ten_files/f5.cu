#include "common.h"
__device__ int f5(int x) { return f6(x) + f7(x) * f3(x); }
