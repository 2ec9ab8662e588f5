extern __device__ int ext(int *, int);
__global__ void child(int *p) { *p = ext(p, 4); }
__global__ void idle(int *p) { *p = ext(p, 5); }
