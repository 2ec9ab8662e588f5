// Ranks of keys among those of a warp: atomic operations whose results replace their operands, and
// operands that are read sooner than a result of their number is there.
template <int KEYS, int BITS, int EARLY, int ATOMIC>
static __device__ void rank(unsigned *out, const unsigned *in, int n)
{
    __shared__ volatile unsigned starts[256];
    __shared__ unsigned counts[512], kept[1024];
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    unsigned keys[KEYS], ranks[KEYS], early[EARLY];
    for (int i = 0; i < KEYS; i++)
        keys[i] = in[i * 128 + threadIdx.x];
    starts[threadIdx.x] = n;
    for (int i = 0; i < ATOMIC; i++)
        atomicAdd(&counts[keys[i] & 255], 1);
    for (int i = 0; i < ATOMIC; i++)
        kept[i * 32 + threadIdx.x] = keys[i] + 1;
    __syncthreads();
    for (int i = 0; i < EARLY; i++)
        early[i] = starts[threadIdx.x * 2 + i * 32];
    for (int i = 0; i < KEYS; i++) {
        const unsigned digit = keys[i] & 255;
        unsigned all = ~0u;
        for (int bit = 0; bit < BITS; bit++) {
            const unsigned set = __ballot_sync(~0u, digit >> bit & 1);
            all &= digit >> bit & 1 ? set : ~set;
        }
        const unsigned leader = 31 - __clz(all);
        unsigned before = 0;
        if (lane == leader)
            before = atomicAdd(&counts[digit + warp], __popc(all));
        before = __shfl_sync(~0u, before, leader);
        ranks[i] = before + __popc(all & (1u << lane) - 1);
    }
    unsigned sum = 0;
    for (int i = 0; i < EARLY; i++)
        sum += early[i];
    for (int i = 0; i < KEYS; i++)
        out[ranks[i] + sum] = keys[i] + kept[ranks[i] & 1023];
}

#define RANK(KEYS, BITS, EARLY, ATOMIC) \
    extern "C" __global__ void rank_##KEYS##_##BITS##_##EARLY##_##ATOMIC(unsigned *out, const unsigned *in, int n) \
    { rank<KEYS, BITS, EARLY, ATOMIC>(out, in, n); }
RANK(4, 2, 3, 4)
RANK(5, 3, 3, 4)
RANK(5, 3, 2, 2)
