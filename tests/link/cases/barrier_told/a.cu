// Numbers and waits of kernels that lose the load of their stack pointer.

// Nothing uses the results of these atomic operations.
__global__ void atomics(int *data) {
    unsigned thread = blockDim.x * blockIdx.x + threadIdx.x;
    for (int round = 0; round < 60; ++round) {
        atomicAdd_system(&data[0], 6);
        atomicExch_system(&data[1], thread);
        atomicMax_system(&data[2], thread);
        atomicMin_system(&data[3], thread);
        atomicInc_system((unsigned *)&data[4], 12);
        atomicDec_system((unsigned *)&data[5], 90);
        atomicCAS_system(&data[6], thread - 2, thread);
        atomicAnd_system(&data[7], 4 * thread + 9);
        atomicOr_system(&data[8], 1 << thread);
        atomicXor_system(&data[9], thread);
    }
}

// The last block in front of the loop ends just when a constant would be there, but the input does
// not wait for it.
struct World { int size, rank; };
struct Expert { int count, top; };
template <int THREADS>
__global__ void gathered(World world, Expert expert, int most, int local, const int *sums,
                         const int *indices, const int *experts, const float *scales, int *to,
                         float *scaled) {
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    int lane = thread % THREADS;
    int per_block = blockDim.x / THREADS;
    int total = sums[world.size - 1];
    bool is_wanted = lane < expert.top;
    for (int at = threadIdx.x / THREADS + blockIdx.x * per_block; at < local;
         at += per_block * gridDim.x) {
        int index = indices[at];
        int value = is_wanted && at < total ? experts[index * expert.top + lane] : expert.count;
        float scale = is_wanted && at < total ? scales[index * expert.top + lane] : 0;
        if (is_wanted) {
            to[at * expert.top + lane] = value;
            scaled[at * expert.top + lane] = scale;
        }
    }
}
template __global__ void gathered<16>(World, Expert, int, int, const int *, const int *, const int *,
                                      const float *, int *, float *);

// A product of four columns of tf32 reads one register of B.
__global__ void product(float *data, int count) {
    if (threadIdx.x >= count) return;
    float d[4];
    unsigned a[2], b;
    for (int i = 0; i < 2; ++i) a[i] = __float_as_uint(data[i]);
    b = __float_as_uint(data[16]);
    for (int i = 0; i < 4; ++i) d[i] = data[32 + i];
    asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5},{%6},"
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b));
    for (int i = 0; i < 4; ++i) data[32 + i] = d[i];
}

// A block that has waited need not stall behind its barrier, so what it has read is not there yet.
template <bool IS_SENT, int THREADS>
__device__ void count(World world, Expert expert, int most, const int *sums, const int *targets,
                      int *shared, int *counts) {
    int lane = ((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) % THREADS;
    int per_block = blockDim.x / THREADS;
    if (threadIdx.x == 0) *shared = 0;
    __syncthreads();
    int read = IS_SENT ? world.rank : blockIdx.x;
    int wanted = IS_SENT ? blockIdx.x : world.rank;
    const int *own = targets + read * most * expert.top;
    int tokens = most;
    if (sums != nullptr) {
        int start = read == 0 ? 0 : sums[read - 1];
        own = targets + start * expert.top;
        tokens = sums[read] - start;
    }
    for (int at = threadIdx.x / THREADS + blockIdx.z * per_block; at < tokens;
         at += per_block * gridDim.z) {
        int target = lane < expert.top ? own[at * expert.top + lane] : world.size;
        if (__any_sync(~0u, target == wanted) && lane == 0) atomicAdd_block(shared, 1);
        __syncwarp();
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd_system(counts + blockIdx.x, *shared);
}

__global__ void counted(World world, Expert expert, int most, const int *sums, const int *targets,
                        int *sent, int *received) {
    __shared__ int shared;
    if (blockIdx.y == 0) count<true, 16>(world, expert, most, sums, targets, &shared, sent);
    else count<false, 16>(world, expert, most, sums, targets, &shared, received);
}
