__device__ float after(float x) { return x > 0 ? x : 0.1f * x; }
