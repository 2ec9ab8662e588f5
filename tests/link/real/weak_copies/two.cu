#include "common.h"
template __global__ void again<64>(int *);
template __global__ void again<96>(int *);
struct Other : Base {
  __device__ int id() override { return 2; }
};
__global__ void two(int *out) {
  Other other;
  *out = named(&other);
}
