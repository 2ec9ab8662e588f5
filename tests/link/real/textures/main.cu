__device__ float4 sample(cudaTextureObject_t texture, float x, float y);

__global__ void resize(cudaTextureObject_t texture, cudaSurfaceObject_t surface, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width) surf2Dwrite(sample(texture, x + 0.5f, y + 0.5f), surface, x * 16, y);
}
