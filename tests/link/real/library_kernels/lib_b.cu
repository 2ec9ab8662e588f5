static __device__ int state;
__global__ void b_kernel(int *out) {
  __shared__ int tile[33];
  tile[threadIdx.x] = state++;
  __syncthreads();
  out[threadIdx.x] = tile[32 - threadIdx.x];
}
