#define V 30
#define N 40
#include "c.h"
__global__ void a_kernel(long long* a) { a[threadIdx.x] = sum(a[threadIdx.x], a); }
