#include <thrust/device_ptr.h>
#include <thrust/sort.h>

void sort(int *keys, float *values, int count) {
  thrust::device_ptr<int> first(keys);
  thrust::sort_by_key(first, first + count, thrust::device_ptr<float>(values));
}
