// Sums of columns by way of shared memory. A branch asks a uniform predicate, and stalls for it no
// more, as the block waits for a thread number in between. So the numbers read later are not over.
template <bool WEIGHS>
static __device__ void sum(float *out, const float *in, int n, int m, int row)
{
    __shared__ float kept[32][33];
    const int column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < n; i += 32) {
        kept[threadIdx.y][threadIdx.x] = in[(row + i) * m + column];
        __syncthreads();
        for (int k = 0; k < 32; k++)
            sum += kept[k][threadIdx.x] * (WEIGHS ? kept[threadIdx.y][k] : 1);
        __syncthreads();
    }
    out[row * m + column] = sum;
}
extern "C" __global__ void of_columns(float *out, const float *in, int n, int m)
{
    sum<false>(out, in, n, m, threadIdx.y);
}
extern "C" __global__ void weighed(float *out, const float *in, int n, int m)
{
    sum<true>(out, in, n, m, blockIdx.y * 32 + threadIdx.y);
}
