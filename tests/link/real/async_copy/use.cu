__device__ float use(const float4 *tile) { return tile[threadIdx.x ^ 1].x + tile[63].w; }
