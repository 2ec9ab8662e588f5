__device__ float library_sum(const float *, int);
__global__ void sum(const float *in, float *out) { *out = library_sum(in, 32); }
