template <class F>
__global__ void each(int *data, F f) {
  data[threadIdx.x] = f(data[threadIdx.x]);
}
__device__ int helper(int);
void start(int *data, int by) {
  each<<<1, 32>>>(data, [=] __device__(int x) { return helper(x) + by; });
  each<<<1, 64>>>(data, [] __device__(int x) { return x * 2; });
}
