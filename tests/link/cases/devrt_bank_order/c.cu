__global__ void grandchild(int *p) { *p = 5; }
__device__ int ext(int *p, int n)
{ grandchild<<<1, 1>>>(p); volatile int a[64]; for (int i = 0; i < 64; i++) a[i] = p[i] + n; __syncthreads(); return a[n & 63]; }
