__global__ void query(int *out) {
  int device = 0, value = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device);
  size_t limit = 0;
  cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize);
  out[0] = value + int(limit) + cudaGetLastError();
}
