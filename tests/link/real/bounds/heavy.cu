__device__ float heavy(const float *data, int step) {
  float sums[12] = {};
  for (int i = 0; i < 240; i++) sums[i % 12] += data[i * step] * data[i + step];
  float all = 0;
  for (float sum : sums) all = all * 1.5f + sum;
  return all;
}
