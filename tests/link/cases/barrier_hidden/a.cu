// Random kernels: in k165 the wait of a result hides that of operands, in k1203 it is not certain how
// soon operands are read that leave their block.
extern "C" __global__ void k165(int*p,const int*__restrict__ q,int n){
__shared__ int s[256];
int t=threadIdx.x,a=t+n,b=p[t],c=n,d=q[t],e=blockIdx.x;
double v=n;
d=p[b];
for(int i0=0;i0<n;i0++){
d^=n;
for(int i1=0;i1<c;i1++){
__syncthreads();
atomicAdd(p+d,e);
s[(q[(e)&1023])&255]=n;
for(int i2=0;i2<a;i2++){
s[(d)&255]=s[(q[(t)&1023])&255];
}
__syncthreads();
}
__syncthreads();
}
b+=blockIdx.z;
p[e]=p[t];
e=n;
do{
p[b]=s[((int)(v*n))&255];
d+=(q[(n)&1023]+n);
}
while(a!=e);
p[t]=a+b+c+d+e+(int)v+s[t];
}
extern "C" __global__ void k1203(int*p,const int*__restrict__ q,int n){
__shared__ int s[256];
int t=threadIdx.x,a=t+n,b=p[t],c=n,d=q[t],e=blockIdx.x;
double v=n;
s[(blockIdx.y)&255]=p[n];
p[d]=p[c];
s[(e)&255]=n;
for(int i0=0;i0<a;i0++){
for(int i1=0;i1<n;i1++){
p[c]=p[n];
s[(p[n])&255]=s[(t)&255];
}
__syncthreads();
}
s[((int)(v*n))&255]=(p[d]^(int)__popc((int)__popc(b)));
p[t]=a+b+c+d+e+(int)v+s[t];
}
