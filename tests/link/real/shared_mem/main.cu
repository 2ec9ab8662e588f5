extern __shared__ char pool[];
__device__ float *grab(int bytes);
__device__ int in_shared(int);
__global__ void pools(float *out) {
  float *mine = grab(threadIdx.x);
  mine[0] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = mine[1] + in_shared(3) + pool[5];
}
__global__ void plain(float *out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x] + in_shared(4);
}
