#include "shared.h"

__global__ void floats(float *data) {
  Stack<float> stack;
  stack.push(data[0]);
  table<float>[2] = stack.pop();
}
