#define V 2
#include "c.h"
__global__ void k1_0(int* a, float* b, long long* c, unsigned* d) {
  int i = threadIdx.x;
  b[i+0] = t0<float>(b[i], b);
  a[i+1] = t1<int>(a[i], a);
}
