__device__ float library_add(float, float);
__device__ float library_sum(const float *in, int count) {
  float sum = 0;
  for (int i = 0; i < count; i++) sum = library_add(sum, in[i]);
  return sum;
}
