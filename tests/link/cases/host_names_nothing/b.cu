__global__ void unnamed2(int *p) { *p = 9; }
