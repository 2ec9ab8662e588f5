extern "C" __device__ int needed(int a) { return a + 1; }
