__device__ int mangle(int *numbers, int count) {
  int copy[16];
  for (int i = 0; i < 16; i++) copy[i] = numbers[(i * 7) % count];
  for (int i = 0; i < count; i++) numbers[i] += copy[numbers[i] & 15];
  return numbers[count / 2];
}
