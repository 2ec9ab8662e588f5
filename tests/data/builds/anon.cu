namespace { __global__ void hidden(int *p){ *p=1; } template<class T> __global__ void tpl(T*p){*p=2;} __device__ int var=3; }
static __global__ void stat(int *p){ *p=4+var; }
template<class T,int N> __global__ void scale(T*p){ for(int i=0;i<N;i++) p[i]*=2; }
template __global__ void scale<float,4>(float*);
void go(int*p){ hidden<<<1,1>>>(p); stat<<<1,1>>>(p); tpl<float><<<1,1>>>((float*)p); }
