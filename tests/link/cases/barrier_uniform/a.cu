// Uniform minima, conversions and arithmetic; the number 1 in them is no R1.
extern "C" __global__ void smaller(int *p, int n, int m) {
  int t = threadIdx.x, x = p[t], y = p[t + 64];
  int k = min(max(n, 1), m);
  for (int i = 0; i < k; i++) x += p[x & 255] ^ y;
  p[t] = x + y;
}
extern "C" __global__ void floats(int *p, int n, float f, float g) {
  int t = threadIdx.x, x = p[t], y = p[t + 64];
  float k = (float)n * f + g;
  if (k > f * g)
    for (int i = 0; i < n; i++) x += p[x & 255] ^ y;
  p[t] = x + y + (int)(k + f);
}
extern "C" __global__ void convert(int *p, int n, unsigned m, float f) {
  int t = threadIdx.x, x = p[t], y = p[t + 64];
  float k = (float)(m + 1) + f * (float)(n - 1);
  for (int i = 0; i < n; i++) x += p[x & 255] ^ (int)((float)y * k);
  p[t] = x + y;
}
