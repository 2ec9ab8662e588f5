#define V 30
#include "c.h"
__global__ void k0_0(int* a, float* b, long long* c, unsigned* d) {
  int i = threadIdx.x;
  a[i+0] = t2<int>(a[i], a);
}
__global__ void k0_1(int* a, float* b, long long* c, unsigned* d) {
  int i = threadIdx.x;
  b[i+0] = t2<float>(b[i], b);
  d[i+1] = t2<unsigned>(d[i], d);
  d[i+2] = t0<unsigned>(d[i], d);
}
