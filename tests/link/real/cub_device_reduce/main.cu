#include <cub/device/device_reduce.cuh>

struct Biggest {
  __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};

int main() {
  int *in = nullptr, *out = nullptr;
  size_t bytes = 0;
  cub::DeviceReduce::Reduce(nullptr, bytes, in, out, 1000, Biggest{}, 0);
  cub::DeviceReduce::Sum(nullptr, bytes, in, out, 1000);
  return 0;
}
