__device__ void more(int *i, double *d) {
  __shared__ int local;
  local = 0;
  __syncthreads();
  atomicAdd_block(&local, threadIdx.x);
  atomicAdd_system(i, local);
  d[1] = atomicAdd(d, 2.0);
  __threadfence();
}
