extern __global__ void child(int *);
__global__ void parent(int *p) { child<<<1, 1>>>(p); }
void h() { parent<<<1, 1>>>(nullptr); }
