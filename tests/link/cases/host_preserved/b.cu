__global__ void other_idle(int *p) { *p = 1; }
__global__ void other_launched(int *p) { *p = 1; }
void other(int *p) { other_launched<<<1, 1>>>(p); }
