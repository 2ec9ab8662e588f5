__device__ int shared_sum(int *data, int count) {
  int sum = 0;
  for (int i = 0; i < count; i++) sum += atomicAdd(data + i, 1);
  __threadfence();
  return sum;
}
