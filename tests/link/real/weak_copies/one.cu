#include "common.h"
template __global__ void again<32>(int *);
template __global__ void again<64>(int *);
__global__ void one(int *out) {
  Base base;
  *out = named(&base);
}
