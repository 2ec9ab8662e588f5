__constant__ float factors[4] = {1.f, 0.5f, 0.25f, 0.125f};

__device__ float scale(float value, int power) { return value * factors[power & 3]; }
