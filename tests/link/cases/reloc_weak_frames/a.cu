#define V 30
#define N 40
#include "c.h"
__global__ void ka(long long* a) { a[threadIdx.x] = sum(a[threadIdx.x], a); }
