#include "shared.h"

__device__ double others(Stack<double> &stack) {
  stack.push(counter);
  table<double>[1] = stack.pop();
  return stack.pop() + table<float>[2];
}
