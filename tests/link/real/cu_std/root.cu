#include <cuda/std/optional>

__device__ cuda::std::optional<float> root(float x) {
  if (x < 0) return cuda::std::nullopt;
  return sqrtf(x);
}
