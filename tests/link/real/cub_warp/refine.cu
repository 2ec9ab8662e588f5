__device__ double refine(double x) { return sqrt(x) / (1.0 + exp(-x)); }
