#define V 60
#define N 40
#include "c.h"
__global__ void kc(long long* a) { a[threadIdx.x] = sum(a[threadIdx.x], a); }
