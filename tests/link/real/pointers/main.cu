using Step = float (*)(float);
extern __device__ Step steps[4];
__device__ float apply(Step, float);

__global__ void chain(float *data, int which) { data[threadIdx.x] = apply(steps[which & 3], data[threadIdx.x]); }
