static __global__ void hidden(int *data) { data[0] = 3; }
__device__ void start(int *data) { hidden<<<1, 1>>>(data); }
