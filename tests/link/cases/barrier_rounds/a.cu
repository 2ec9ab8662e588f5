// Two sums of the values of one kind: a loop whose load waits for its operands of the round before.
extern "C" __global__ void sums(int n, int kinds, int kind, const int *kind_of, const float *values, float *lengths, float *squares)
{
    const int row = blockIdx.x, thread = threadIdx.x;
    __shared__ float length[1024], square[1024];
    length[thread] = 0;
    square[thread] = 0;
    for (int at = thread; at < n; at += blockDim.x) {
        const float value = values[row * n + at];
        if ((kind_of[at] == kind && kind != kinds) || (kind_of[at] != kind && kind == kinds)) {
            length[thread] += fabsf(value);
            square[thread] += value * value;
        }
    }
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (thread < half) {
            length[thread] += length[thread + half];
            square[thread] += square[thread + half];
        }
        __syncthreads();
    }
    if (thread == 0) {
        lengths[row] = length[0];
        squares[row] = square[0];
    }
}
