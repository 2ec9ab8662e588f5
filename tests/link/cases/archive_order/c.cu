__device__ int vc = 1;
__noinline__ __device__ int fc(int x) { volatile int q[9]; q[x] = x; return q[x / 2] + vc; }
__global__ void kc(int *p) { *p = fc(*p); }
void hc() { kc<<<1, 1>>>(nullptr); }
