__global__ void clear(int *out) { out[threadIdx.x] = 0; }
