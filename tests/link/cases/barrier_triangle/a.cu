// Rows of a triangle, four to a block: the first block of the loop over them ends with EXIT.
extern "C" __global__ void rows(float *out, const float *values, const float *weights, int heads, int count, int width, float scale)
{
    __shared__ float sums[32];
    const int head = blockIdx.y, last = count - 1 - 4 * blockIdx.x;
    const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const unsigned lane = thread % 32, warp = thread / 32;
    weights += head * count * count;
    values += head * count * count;
    out += head * count * count;
    if (warp == 0)
        sums[lane] = 0;
    for (int part = 0; part < 4; part++) {
        const int row = last - part;
        if (row < 0)
            return;
        const float *weight = weights + row * count, *value = values + row * count;
        float *result = out + row * count;
        float sum = 0;
        for (int at = thread; at <= row; at += 256)
            sum += weight[at] * value[at];
        for (int by = 16; by > 0; by /= 2)
            sum += __shfl_xor_sync(~0u, sum, by);
        sums[warp] = sum;
        __syncthreads();
        sum = sums[lane];
        for (int by = 16; by > 0; by /= 2)
            sum += __shfl_xor_sync(~0u, sum, by);
        for (int at = thread; at <= row; at += 256)
            __stcs(result + at, scale * (__ldcs(weight + at) * (__ldcs(value + at) - sum)));
    }
}
