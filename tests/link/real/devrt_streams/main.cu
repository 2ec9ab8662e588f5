__device__ cudaStream_t make_stream();
__global__ void child(int *data) { data[threadIdx.x]++; }

__global__ void parent(int *data) {
  cudaStream_t stream = make_stream();
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  child<<<1, 32, 0, stream>>>(data);
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(stream, event, 0);
  cudaMemcpyAsync(data + 64, data, 128, cudaMemcpyDeviceToDevice, stream);
  cudaEventDestroy(event);
  cudaStreamDestroy(stream);
}
