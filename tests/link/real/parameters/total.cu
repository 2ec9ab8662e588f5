struct Big {
  float values[200];
  int count;
  char tag;
};
__device__ float total(const Big &big) {
  float sum = 0;
  for (int i = 0; i < big.count; i++) sum += big.values[i];
  return sum + big.tag;
}
