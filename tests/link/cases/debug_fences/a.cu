extern "C" __global__ void waits(int *p, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        p[i] = p[i] + n;
        asm volatile("membar.gl;" ::: "memory");
        p[i + 1] = 3;
    }
}

extern "C" __global__ void adds(int *p, int n)
{
    int i = threadIdx.x;
    p[i] = p[i] + n;
}
