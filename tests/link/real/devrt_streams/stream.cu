__device__ cudaStream_t make_stream() {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return stream;
}
