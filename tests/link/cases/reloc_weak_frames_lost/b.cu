#define V 30
#define N 60
#include "c.h"
__global__ void kb2(float* a) { a[threadIdx.x] = sum(a[threadIdx.x], a); }
__global__ void kb(long long* a) { a[threadIdx.x] = sum(a[threadIdx.x], a); }
