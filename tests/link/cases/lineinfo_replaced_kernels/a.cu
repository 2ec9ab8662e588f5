#define V 30
#include "c.h"
__global__ void first(int* a) { a[threadIdx.x] = sum(a[threadIdx.x], a); }
__global__ void second(unsigned* d) { d[threadIdx.x] = sum(d[threadIdx.x] + 1, d) * 3; }
