__noinline__ __device__ int deep(int *p, int n)
{ volatile int a[64]; for (int i = 0; i < 64; i++) a[i] = p[i] + n; __syncthreads(); return a[n & 63]; }
__global__ void named(int *p) { *p = deep(p, 3); }
__global__ void idle(int *p) { *p = deep(p, 4); }
__device__ void *where;
__global__ void parent(int *p) { where = (void *)named; }
extern __device__ void nowhere();
__device__ void dead() { nowhere(); }
void h() { parent<<<1, 1>>>(nullptr); }
