__device__ int used_by_host, used_by_kernel = 3;
static __device__ int own;
__constant__ int table[4];
__device__ __noinline__ int helper(int x) { return x * used_by_kernel; }
__device__ __noinline__ int idle_helper(int x) { __shared__ int s[8]; s[x] = x; return s[x ^ 1]; }
__global__ void idle(int *p) { *p = helper(idle_helper(*p)); }
__global__ void launched(int *p) { *p = helper(*p) + own; }
static __global__ void own_idle(int *p) { *p = 2; }
static __global__ void own_launched(int *p) { *p = table[1]; }
template <class T> __global__ void templated(T *p) { *p = 5; }
void run(int *p)
{
    launched<<<1, 1>>>(p);
    own_launched<<<1, 1>>>(p);
    templated<<<1, 1>>>(p);
    cudaMemcpyToSymbol(used_by_host, p, 4);
}
