__device__ int helper(int x) {
  auto twice = [](int y) { return y * 2; };
  return twice(x) + 1;
}
