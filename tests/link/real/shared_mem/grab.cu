extern __shared__ char pool[];
__device__ float *grab(int bytes) { return reinterpret_cast<float *>(pool) + bytes; }
__device__ int in_shared(int value) {
  __shared__ int slots[32];
  slots[threadIdx.x & 31] = value;
  __syncwarp();
  return slots[(threadIdx.x + 1) & 31];
}
