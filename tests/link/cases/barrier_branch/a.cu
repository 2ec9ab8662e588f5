// A branch stalls for a predicate that is written in front of an instruction that now takes a cycle.
constexpr int STEPS = 2048, THREADS = 128, EACH = STEPS / THREADS;

struct Option {
    float price, strike, step, up, down;
};
__constant__ Option options[1024];
__device__ float values[1024];

__device__ float at_end(const Option &o, int step) {
    float value = o.price * __expf(o.step * (2.0f * step - STEPS)) - o.strike;
    return value > 0 ? value : 0;
}

__global__ void tree() {
    __shared__ float shared[THREADS + 1];
    const int thread = threadIdx.x;
    const Option o = options[blockIdx.x];
    float call[EACH + 1];
#pragma unroll
    for (int i = 0; i < EACH; ++i) call[i] = at_end(o, thread * EACH + i);
    if (thread == 0) shared[THREADS] = at_end(o, STEPS);
    const int last = max(0, thread * EACH - 1);
#pragma unroll 16
    for (int i = STEPS; i > 0; --i) {
        shared[thread] = call[0];
        __syncthreads();
        call[EACH] = shared[thread + 1];
        __syncthreads();
        if (i > last) {
#pragma unroll
            for (int j = 0; j < EACH; ++j) call[j] = o.up * call[j + 1] + o.down * call[j];
        }
    }
    if (thread == 0) values[blockIdx.x] = call[0];
}
