__device__ int va = 1;
__noinline__ __device__ int fa(int x) { volatile int q[9]; q[x] = x; return q[x / 2] + va; }
__global__ void ka(int *p) { *p = fa(*p); }
void ha() { ka<<<1, 1>>>(nullptr); }
