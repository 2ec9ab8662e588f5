extern "C" __device__ void wait_all(int *p);

extern "C" __global__ void straight(int *p)
{
    p[threadIdx.x] = 1;
    __threadfence();
    p[threadIdx.x + 64] = 2;
    __threadfence_system();
    p[threadIdx.x + 128] = 3;
    __threadfence_block();


    p[threadIdx.x + 192] = 4;
}

extern "C" __global__ void calls(int *p)
{
    p[0] = 1;
    __threadfence();
    wait_all(p);
    __threadfence();
    p[1] = 2;
}
