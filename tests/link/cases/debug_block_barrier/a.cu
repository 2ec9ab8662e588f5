// Blocks that end behind a barrier of the block, or with a store, in front of what -g adds to EXIT.

template <int OP>
__device__ int made(int value, int thread) {
    if (OP == 1) return __float_as_int(__int_as_float(value) + __int_as_float(thread));
    if (OP == 2) return __reduce_add_sync(~0u, value);
    if (OP == 3) return __shfl_down_sync(~0u, value, 1);
    if (OP == 4) return __popc(value);
    if (OP == 5) return (int)(long long)__int_as_float(value);
    return value + thread;
}

template <int OP, bool IS_FIRST>
__global__ void sum(int *data, int count) {
    __shared__ int sums[64];
    int thread = threadIdx.x, value = 0;
    for (int at = blockIdx.x * 128 + thread; at < count; at += gridDim.x * 128) value += data[at];
    value = made<OP>(value, thread);
    if (!IS_FIRST) sums[thread & 63] = value;
    else if ((thread & 31) == 0) sums[thread >> 5] = value;
    __syncthreads();
    if (thread > 3) return;
    int all = __reduce_add_sync(15, sums[thread]);
    if (thread == 0) data[blockIdx.x] = all;
}

#define BOTH(op) \
    template __global__ void sum<op, true>(int *, int); \
    template __global__ void sum<op, false>(int *, int);
BOTH(0) BOTH(1) BOTH(2) BOTH(3) BOTH(4) BOTH(5)

// The store stalls for the predicate of EXIT, which is long there when the load is waited for.
__global__ void copied(int4 *to, const int4 *from, unsigned long long count) {
    for (unsigned long long at = blockIdx.x * blockDim.x + threadIdx.x; at < count;
         at += gridDim.x * blockDim.x)
        to[at] = from[at];
}
