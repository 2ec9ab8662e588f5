__device__ int g1(int); __device__ int g2(int); __device__ int g3(int);
__global__ void k(int *p) { p[0] = g3(p[1]) + g1(p[2]) * g2(p[3]); }
