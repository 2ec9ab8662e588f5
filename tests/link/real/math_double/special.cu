__device__ double special(double x, int n) { return lgamma(x) + jn(n, x) + norm3d(x, 1, 2) + rsqrt(x) + log1p(x); }
