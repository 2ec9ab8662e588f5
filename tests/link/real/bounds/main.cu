__device__ float heavy(const float *, int);
__global__ void __launch_bounds__(64) few(float *data) { data[threadIdx.x] = heavy(data, 3); }
__global__ void __launch_bounds__(1024) many(float *data) { data[threadIdx.x] = heavy(data, 5); }
