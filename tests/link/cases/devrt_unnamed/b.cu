__global__ void other(int *out) { out[0] = 3; }
