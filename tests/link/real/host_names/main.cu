__global__ void wanted(int *out) { *out = 1; }
__global__ void unwanted(int *out) { *out = 2; }
__device__ int used_by_unwanted(int);
__global__ void also_unwanted(int *out) { *out = used_by_unwanted(*out); }
int main() {
  wanted<<<1, 1>>>(nullptr);
  return 0;
}
