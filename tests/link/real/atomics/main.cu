__device__ void more(int *, double *);
__global__ void all(int *i, unsigned long long *l, float *f, double *d) {
  atomicAdd(i, 1);
  atomicSub(i + 1, 2);
  atomicExch(i + 2, 3);
  atomicMin(i + 3, 4);
  atomicMax(i + 4, 5);
  atomicAnd(i + 5, 6);
  atomicOr(i + 6, 7);
  atomicXor(i + 7, 8);
  atomicInc(reinterpret_cast<unsigned *>(i + 8), 9);
  atomicDec(reinterpret_cast<unsigned *>(i + 9), 9);
  l[1] = atomicCAS(l, 1ull, 2ull);
  f[1] = atomicAdd(f, 1.f);
  more(i, d);
}
