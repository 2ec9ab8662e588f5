#include "common.h"
template __global__ void again<32>(int *);
__global__ void three(int *out) {
  Base base;
  *out = named(&base) + 3;
}
