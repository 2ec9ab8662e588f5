#define V 2
#include "c.h"
__global__ void third(int* a) { a[threadIdx.x] = sum(a[threadIdx.x], a); }
