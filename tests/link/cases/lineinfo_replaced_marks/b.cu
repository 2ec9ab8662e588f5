#define V 5
#include "c.h"
__global__ void k1_0(int* a, float* b, long long* c, unsigned* d) {
  int i = threadIdx.x;
  a[i+0] = w0(a[i]);
  a[i+1] = w0(a[i]);
}
__global__ void k1_1(int* a, float* b, long long* c, unsigned* d) {
  int i = threadIdx.x;
  a[i+0] = w0(a[i]);
  d[i+1] = t2<unsigned>(d[i], d);
  a[i+2] = t2<int>(a[i], a);
  c[i+3] = t1<long long>(c[i], c);
}
