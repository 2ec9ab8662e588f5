__device__ bool before(int a, int b) { return (a & 1) != (b & 1) ? (a & 1) < (b & 1) : a < b; }
