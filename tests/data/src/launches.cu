// Dynamic parallelism: a kernel that starts kernels.
__global__ void child(int *p, int depth) { p[threadIdx.x] += depth; }
__global__ void parent(int *p)
{
    child<<<1, 32>>>(p, 1);
    child<<<2, 16, 64, cudaStreamTailLaunch>>>(p, 2);
}
