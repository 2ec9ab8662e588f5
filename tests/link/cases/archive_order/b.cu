__device__ int vb = 1;
__noinline__ __device__ int fb(int x) { volatile int q[9]; q[x] = x; return q[x / 2] + vb; }
__global__ void kb(int *p) { *p = fb(*p); }
void hb() { kb<<<1, 1>>>(nullptr); }
