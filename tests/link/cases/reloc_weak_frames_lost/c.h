template <class T> __device__ __noinline__ T sum(T x, T* p) {
  T s = x, q[V];
  for (int j = 0; j < V; j++) q[j] = s * T(j + 3);
  __syncthreads();
  for (int j = 0; j < V; j++) s += q[j] * p[j];
  for (int i = 0; i < N; i++) s += p[i * 2];
  return s;
}
