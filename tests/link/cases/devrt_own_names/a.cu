extern "C" __device__ int needed(int a);
__global__ void unnamed(int *p) { *p = needed(*p); }
