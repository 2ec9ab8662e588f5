__device__ int mangle(int *numbers, int count);
__global__ void __launch_bounds__(1024, 2) frames(int *data) {
  int numbers[100];
  for (int i = 0; i < 100; i++) numbers[i] = data[i * threadIdx.x];
  data[threadIdx.x] = mangle(numbers, data[0]) + numbers[data[1] % 100];
}
__global__ void grows(int *data, int count) {
  int *numbers = static_cast<int *>(alloca(count * sizeof(int)));
  for (int i = 0; i < count; i++) numbers[i] = data[i];
  data[0] = mangle(numbers, count);
}
