using Step = float (*)(float);
__device__ float apply(Step step, float x) { return step(step(x)); }
