__device__ int read(cudaSurfaceObject_t in, int x, int layer) {
  return surf2DLayeredread<int>(in, x * 4, 0, layer, cudaBoundaryModeClamp);
}
