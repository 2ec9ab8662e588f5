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
  for (int i = 0; i < 20; i++)
    s += p[i*1];
  s = h(s, p);
  return s;
}
template<class T> __device__ __noinline__ T t1(T x, T* p) {
  T s = x; T q[V+2]; for (int j=0;j<V+2;j++) q[j]=s*T(j+V);
  __syncthreads();
  for (int j=0;j<V+2;j++) s+=q[j]*p[j];
  for (int i = 0; i < 6; i++)
    s += p[i*2];
  s = h(s, p);
  if (s > T(3))
    return s * x;
  return t0(s, p) + T(1);
}
template<class T> __device__ __noinline__ T t2(T x, T* p) {
  T s = x; T q[V+2]; for (int j=0;j<V+2;j++) q[j]=s*T(j+V);
  __syncthreads();
  for (int j=0;j<V+2;j++) s+=q[j]*p[j];
  for (int i = 0; i < 20; i++)
    s += p[i*3];
  return t1(s, p) + T(1);
}
template<class T> __device__ __noinline__ T t3(T x, T* p) {
  T s = x; T q[V+2]; for (int j=0;j<V+2;j++) q[j]=s*T(j+V);
  __syncthreads();
  for (int j=0;j<V+2;j++) s+=q[j]*p[j];
  for (int i = 0; i < 20; i++)
    s += p[i*4];
  s = h(s, p);
  if (s > T(3))
    return s * x;
  return t2(s, p) + T(1);
}
