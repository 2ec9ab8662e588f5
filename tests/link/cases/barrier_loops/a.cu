// Sums in shared memory: what is set in front of a loop, and an end of a block that waits for its own.
extern "C" __global__ void sum_all(int n, double* g) {
  __shared__ double s[1024];
  int t = threadIdx.x, rounds = (n - 1) / 1024 + 1;
  s[t] = 0;
  for (int round = 0; round < rounds; ++round) {
    int at = t + round * 1024;
    if (at < n) s[t] += g[at];
  }
  __syncthreads();
  for (int half = blockDim.x >> 1; half > 0; half >>= 1) {
    if (t < half) s[t] += s[t + half];
    __syncthreads();
  }
  if (t == 0) g[0] = s[0];
}
extern "C" __global__ void neighbours(int n, int* count, int* list, float bx, float by, float hx, float hy,
                                      const float* x, const float* y, float limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, found = 0;
  if (i < n) {
    float x0 = x[i], y0 = y[i];
    for (int j = 0; j < n; ++j) {
      float dx = x[j] - x0, dy = y[j] - y0;
      if (dx < -hx) dx += bx; else if (dx > hx) dx -= bx;
      if (dy < -hy) dy += by; else if (dy > hy) dy -= by;
      if (dx * dx + dy * dy < limit && i != j) list[found++ * n + i] = j;
    }
    count[i] = found;
  }
}
