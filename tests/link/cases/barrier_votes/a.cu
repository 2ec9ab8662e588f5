// Threads look back for what other blocks have stored, each as long as it needs; then it depends on
// which way comes first.
template <int FRONT>
static __device__ void follow(unsigned *out, const unsigned *in, volatile unsigned *state, int n, int m)
{
    __shared__ volatile unsigned kept[64];
    if (threadIdx.x < 16) {
        unsigned sum = 0, wanted = ~0u;
        for (int other = blockIdx.x - 1; other >= 0; other--) {
            unsigned seen;
            do {
                __threadfence_block();
                seen = state[other * 16 + threadIdx.x];
            } while (seen == 0);
            sum += seen & 0x3fffffff;
            wanted = __ballot_sync(wanted, (seen >> 31) == 0);
            if (seen >> 31)
                break;
        }
        state[blockIdx.x * 16 + threadIdx.x] = sum;
    }
    if (FRONT > 0 && n > 21)
        state[1] = n;
    if (FRONT > 1 && n > 22)
        state[2] = n;
    if (FRONT > 2 && n > 23)
        state[3] = n;
    const unsigned value = in[32];
    if (n > 11) {
        if (m > 5)
            kept[31] = n;
        else
            kept[44] = m;
    }
    out[20] = value;
}

#define FOLLOW(FRONT) \
    extern "C" __global__ void follow_##FRONT(unsigned *out, const unsigned *in, volatile unsigned *state, int n, int m) \
    { follow<FRONT>(out, in, state, n, m); }
FOLLOW(0)
FOLLOW(3)
