// Sums of columns: the load of the stack pointer shares its number with loads of parameters.
extern "C" __global__ void sum(float *out, const float *in, int rows, int height, int width)
{
    extern __shared__ float part[];
    const int column = blockIdx.x, thread = threadIdx.x, threads = blockDim.x;
    const float *top = in + column;
    double total = 0;
    for (int row = thread; row < rows * height; row += threads)
        total += top[row * width];
    part[thread] = (float)total;
    __syncthreads();
    for (int half = threads / 2; half >= 1; half /= 2) {
        __syncthreads();
        if (thread < half)
            part[thread] += part[thread + half];
    }
    if (thread == 0)
        out[column] = part[0];
}

extern "C" __global__ void add(float *out, const float *in, int rows, int height, int width)
{
    extern __shared__ float part[];
    const int warp = threadIdx.x / warpSize, lane = threadIdx.x % warpSize;
    const int warps = blockDim.x / warpSize, column = blockIdx.x * warpSize + lane;
    float total = 0;
    for (int row = warp; row < rows * height; row += warps)
        total += in[column + row * width];
    part[lane + warp * warpSize] = total;
    __syncthreads();
    total = 0;
    if (warp == 0) {
        for (int other = 0; other < warps; other++)
            total += part[lane + other * warpSize];
        out[column] += total;
    }
}

extern "C" __global__ void mean(float *means, float *squares, const float *in, int n, int width)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    const float *x = in + row * width;
    float m = 0, v = 0;
    for (int i = 0; i < width; i++)
        m += x[i];
    m /= width;
    for (int i = 0; i < width; i++)
        v += (x[i] - m) * (x[i] - m);
    means[row] = m;
    squares[row] = v / width;
}

// The last block adds up what all blocks have stored: instructions that run in their order.
extern "C" __global__ void all(const float *__restrict__ in, int n, unsigned *__restrict__ count,
                               volatile float *__restrict__ out)
{
    __shared__ float total;
    __shared__ bool is_last;
    const unsigned thread = threadIdx.x, block = blockIdx.x, at = block * blockDim.x + thread;
    if (thread == 0)
        total = 0;
    __syncthreads();
    if (at < n)
        atomicAdd(&total, in[at]);
    __syncthreads();
    if (thread == 0) {
        out[block] = total;
        __threadfence();
        is_last = atomicAdd(count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last) {
        if (thread == 0)
            total = 0;
        __syncthreads();
        for (int i = thread; i < gridDim.x; i += blockDim.x)
            atomicAdd(&total, out[i]);
        __syncthreads();
        if (thread == 0) {
            out[0] = total;
            *count = 0;
        }
    }
}
