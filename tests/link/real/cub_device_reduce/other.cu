__global__ void fill(int *data, int value) { data[blockIdx.x * blockDim.x + threadIdx.x] = value; }

void start(int *data) { fill<<<1, 32>>>(data, 3); }
