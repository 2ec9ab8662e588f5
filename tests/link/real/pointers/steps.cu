using Step = float (*)(float);
__device__ float half(float x) { return x / 2; }
__device__ float twice(float x) { return x * 2; }
static __device__ float back(float x) { return 1 / x; }
__device__ float sine(float x) { return sinf(x); }
__device__ Step steps[4] = {half, twice, back, sine};
