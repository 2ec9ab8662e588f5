#include "shapes.h"

__device__ float total(Shape **shapes, int count);

__global__ void areas(float *out) {
  Circle circle(out[0]);
  Box box(out[1], out[2]);
  Shape *shapes[] = {&circle, &box};
  for (Shape *shape : shapes) shape->grow(1.5f);
  out[threadIdx.x] = total(shapes, 2);
}
