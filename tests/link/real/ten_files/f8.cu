#include "common.h"
__device__ int f8(int x) { return f2(x) + int(sqrt(double(x))); }
