static __global__ void own(int *p) { *p = 3; }
__global__ void unnamed(int *p) { *p = 4; }
void launch(int *p) { own<<<1, 1>>>(p); }
