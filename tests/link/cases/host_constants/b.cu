extern __constant__ int first[25];
__constant__ int other[3] = {1, 2, 3};
__global__ void k2(int* p) { *p = other[0] + first[1]; }
void g() { k2<<<1, 1>>>(0); }
