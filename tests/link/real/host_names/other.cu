__device__ int data_of_unwanted[4] = {1, 2, 3, 4};
__device__ int used_by_unwanted(int at) { return data_of_unwanted[at & 3]; }
__global__ void by_address(int *out) { *out = 3; }
const void *address() { return reinterpret_cast<const void *>(by_address); }
