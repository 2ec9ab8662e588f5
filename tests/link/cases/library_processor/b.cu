__device__ int f(int i) { return i * 3; }
