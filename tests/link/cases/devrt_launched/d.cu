__device__ int vd = 1;
__noinline__ __device__ int fd(int x) { volatile int q[9]; q[x] = x; return q[x / 2] + vd; }
__global__ void kd(int *p) { *p = fd(*p); }
