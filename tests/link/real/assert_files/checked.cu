#include <cassert>

__device__ int checked(int value) {
  assert(value != 77);
  return value + 1;
}
