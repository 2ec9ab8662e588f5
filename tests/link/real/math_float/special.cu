__device__ float special(float x) { return tgammaf(x) + erfcinvf(x) + atan2f(x, 2) + cospif(x) + x / 3.f; }
