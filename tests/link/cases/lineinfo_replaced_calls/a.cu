#define V 12
#include "c.h"
__global__ void k0_0(int* a, float* b, long long* c, unsigned* d) {
  int i = threadIdx.x;
  d[i+0] = t2<unsigned>(d[i], d);
  c[i+1] = t0<long long>(c[i], c);
  b[i+2] = t1<float>(b[i], b);
  a[i+3] = t0<int>(a[i], a);
}
__global__ void k0_1(int* a, float* b, long long* c, unsigned* d) {
  int i = threadIdx.x;
  b[i+0] = t2<float>(b[i], b);
  b[i+1] = t2<float>(b[i], b);
}
