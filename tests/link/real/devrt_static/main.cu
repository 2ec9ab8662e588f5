__device__ void start(int *data);
__global__ void parent(int *data) { start(data); }
