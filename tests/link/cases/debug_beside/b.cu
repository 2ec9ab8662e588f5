extern "C" __device__ int outside(int x) { return x * 3 + 1; }

extern "C" __global__ void debugged(int *p, int n)
{
    if (threadIdx.x < n) {
        p[threadIdx.x] += n;
        asm volatile("membar.gl;" ::: "memory");
        p[threadIdx.x + 1] = 3;
    }
}
