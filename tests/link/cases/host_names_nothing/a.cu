__global__ void named(int *p) { *p = 5; }
__global__ void unnamed(int *p) { *p = 6; }
void launch(int *p) { named<<<1, 1>>>(p); }
