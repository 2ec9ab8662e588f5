#include "shapes.h"

__device__ float Circle::area() const { return 3.14159f * radius * radius; }
__device__ void Circle::grow(float by) { radius *= by; }
