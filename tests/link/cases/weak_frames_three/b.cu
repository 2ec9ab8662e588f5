#define V 10
#define N 40
#include "c.h"
__global__ void b_kernel(long long* a) { a[threadIdx.x] = sum(a[threadIdx.x], a); }
