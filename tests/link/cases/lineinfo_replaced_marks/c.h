#pragma once
template<class T> __device__ __forceinline__ T h(T x, T* p) {
  T s = x * T(5);
  s += p[3];
  return s * s;
}
template<class T> __device__ __noinline__ T t0(T x, T* p) {
  T s = x; T q[V+2]; for (int j=0;j<V+2;j++) q[j]=s*T(j+V);
  __syncthreads();
  for (int j=0;j<V+2;j++) s+=q[j]*p[j];
  for (int i = 0; i < 18; i++)
    s += p[i*1];
  s = h(s, p);
  if (s > T(3))
    return s * x;
  return s;
}
template<class T> __device__ __noinline__ T t1(T x, T* p) {
  T s = x; T q[V+2]; for (int j=0;j<V+2;j++) q[j]=s*T(j+V);
  __syncthreads();
  for (int j=0;j<V+2;j++) s+=q[j]*p[j];
  for (int i = 0; i < 16; i++)
    s += p[i*2];
  return s;
}
template<class T> __device__ __noinline__ T t2(T x, T* p) {
  T s = x; T q[V+2]; for (int j=0;j<V+2;j++) q[j]=s*T(j+V);
  __syncthreads();
  for (int j=0;j<V+2;j++) s+=q[j]*p[j];
  for (int i = 0; i < 26; i++)
    s += p[i*3];
  s = h(s, p);
  return t1(s, p) + T(1);
}
__device__ __noinline__ inline int w0(int x) {
  int y = x * 41;
#ifdef V
  y += V;
#endif
  int q[V+2]; for (int j=0;j<V+2;j++) q[j]=y*(j+V);
  __syncthreads();
  for (int j=0;j<V+2;j++) y^=q[j];
  return y / 3;
}
