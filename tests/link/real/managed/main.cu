__managed__ int counters[8];
extern __managed__ float *buffer;
__device__ void bump(int at);
__global__ void work() {
  bump(threadIdx.x & 7);
  buffer[threadIdx.x] = counters[threadIdx.x & 7];
}
int main() {
  work<<<1, 32>>>();
  return counters[0];
}
