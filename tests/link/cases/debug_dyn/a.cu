extern __shared__ int dyn[];
__device__ __noinline__ int dead(int a){ __shared__ int q[7]; q[a]=a; dyn[a]=1; __syncthreads(); return dyn[a+1]+q[a+1]; }
__device__ __noinline__ int fn(int a){ dyn[a]=1; __syncthreads(); return dyn[a+1]; }
__global__ void k0(int*p){ p[0]=1; }
__global__ void k1(int*p){ __shared__ int s[10]; s[p[1]]=2; dyn[p[0]]=3; __syncthreads(); p[1]=dyn[p[2]]+s[p[3]]+fn(p[4]); }
__global__ void k2(int*p){ __shared__ int t[20]; t[p[0]]=1; __syncthreads(); p[2]=t[p[4]]; }
