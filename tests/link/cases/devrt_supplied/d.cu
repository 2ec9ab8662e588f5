extern "C" __device__ int unneeded(int a) { return a + 1; }
