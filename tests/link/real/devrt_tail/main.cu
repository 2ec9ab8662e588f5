__global__ void last(int *data) { data[0] = 1; }

__global__ void first(int *data) {
  last<<<1, 1, 0, cudaStreamTailLaunch>>>(data);
  last<<<1, 1, 0, cudaStreamFireAndForget>>>(data + 1);
}
