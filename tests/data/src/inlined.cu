// Functions inlined into each other: a call inside of a call, in a loop, and one that is not inlined.
template <typename T> __device__ __forceinline__ T twice(T value)
{
    return value + value;
}
__device__ __forceinline__ float power(float value, int count)
{
    float result = value;
    for (int i = 0; i < count; ++i)
        result = twice(result) * value;
    return result;
}
__device__ __noinline__ int called(int value) { return value / 3 + twice(value); }
__global__ void nested(float *data, int count)
{
    data[threadIdx.x] = power(data[threadIdx.x], count) + twice(data[0]);
    data[1] += called(count);
}
__global__ void flat(int *data, double value)
{
    data[threadIdx.x] = twice(data[threadIdx.x]) + called((int)value);
}
