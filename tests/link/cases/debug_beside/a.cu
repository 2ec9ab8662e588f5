extern "C" __device__ int outside(int x);

extern "C" __global__ void plain(int *p)
{
    p[threadIdx.x] = 1;
    __threadfence();
    p[threadIdx.x + 64] = 2;
}

extern "C" __global__ void calls(int *p)
{
    p[0] = outside(p[1]);
    __threadfence();
    p[2] = 3;
}
