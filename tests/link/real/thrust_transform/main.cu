#include <thrust/device_ptr.h>
#include <thrust/transform_reduce.h>

struct Square {
  __device__ float operator()(float x) const;
};

float norm(float *data, int count) {
  thrust::device_ptr<float> first(data);
  return thrust::transform_reduce(first, first + count, Square{}, 0.f, thrust::plus<float>());
}
