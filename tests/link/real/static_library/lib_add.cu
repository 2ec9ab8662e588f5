__device__ int library_calls;
__device__ float library_add(float a, float b) {
  library_calls++;
  return a + b;
}
