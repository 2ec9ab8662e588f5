__device__ int read(cudaSurfaceObject_t, int, int);
__global__ void layers(cudaSurfaceObject_t in, cudaSurfaceObject_t out) {
  int value = read(in, threadIdx.x, blockIdx.x);
  surf3Dwrite(value, out, threadIdx.x * 4, blockIdx.x, 1, cudaBoundaryModeZero);
}
