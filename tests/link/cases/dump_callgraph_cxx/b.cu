extern "C" __device__ int cfun(int x){ return x/7; } __device__ int impl(int a,float*b){ return a+(int)*b; } __device__ int (*fp)(int,float*)=impl;
struct V{ __device__ virtual int f(int)const; __device__ virtual ~V(); }; __device__ int V::f(int x)const{return x;} __device__ V::~V(){}
__device__ V*mk(){ return new V; } __global__ void kv(int*o){ V*v=mk(); o[0]=v->f(3); delete v; }
