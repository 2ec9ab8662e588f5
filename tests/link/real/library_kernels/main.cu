__device__ int version();
__global__ void ask(int *out) { *out = version(); }
