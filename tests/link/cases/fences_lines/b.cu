extern "C" __device__ void wait_all(int *p)
{
    p[2] = 5;
    __threadfence_system();
    p[3] = 6;
}

extern "C" __global__ void shares(int *p)
{
    __shared__ int s[64];
    s[threadIdx.x] = p[threadIdx.x];
    __threadfence();
    p[threadIdx.x] = s[63 - threadIdx.x];
    __threadfence_system();
    p[threadIdx.x + 1] = s[threadIdx.x];
}
