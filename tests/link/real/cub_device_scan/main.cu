#include <cub/device/device_scan.cuh>

void scan(int *in, int *out) {
  size_t bytes = 0;
  cub::DeviceScan::ExclusiveSum(nullptr, bytes, in, out, 4096);
}
