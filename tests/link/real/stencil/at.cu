__device__ float at(const float *grid, int x, int y, int width) {
  return x < 0 || y < 0 || x >= width ? 0.f : __ldg(grid + y * width + x);
}
