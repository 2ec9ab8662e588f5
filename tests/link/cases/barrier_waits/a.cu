// Random kernels: what shares a number of a barrier, and which wait is for whom.
extern "C" __global__ void k1072(int*p,const int*__restrict__ q,int n){
__shared__ int s[256];
int t=threadIdx.x,a=t+n,b=p[t],c=n,d=q[t],e=blockIdx.x;
double v=n;
for(int i0=0;i0<c;i0++){
a+=a;
do{
v+=s[t];
c+=(n^s[(__shfl_xor_sync(~0u,d,2))&255]);
p[d]=(c+q[(n)&1023]);
b+=s[((__shfl_xor_sync(~0u,e,1)-(t^c)))&255];
}
while(b!=d);
s[(s[(t)&255])&255]=s[(s[(p[a])&255])&255];
__syncthreads();
}
s[(e)&255]=s[(d)&255];
a+=(s[(s[(c)&255])&255]^t);
s[((int)__popc(e))&255]=p[c];
s[(t)&255]=p[a];
if(a!=(a^d)){
s[((int)__popc(e))&255]=(__shfl_xor_sync(~0u,n,4)+(int)(v*b));
}
else{
for(int i1=0;i1<c;i1++){
a+=p[n];
s[(t)&255]=b;
__syncthreads();
}
b^=s[(b)&255];
c+=q[(n)&1023];
}
__syncthreads();
d^=q[(c)&1023];
b^=d;
d^=(p[b]&b);
p[a]=p[e];
p[c]=(s[(c)&255]&p[n]);
p[t]=a+b+c+d+e+(int)v+s[t];
}
extern "C" __global__ void k275(int*p,const int*__restrict__ q,int n){
__shared__ int s[256];
int t=threadIdx.x,a=t+n,b=p[t],c=n,d=q[t],e=blockIdx.x;
double v=n;
p[c]=p[c];
do{
s[(p[n])&255]=s[(p[n])&255];
e^=blockIdx.x;
p[b]=s[((int)(v*q[(c)&1023]))&255];
}
while(d>q[(n)&1023]);
s[((c^b))&255]=s[((s[(d)&255]+n))&255];
s[(a)&255]=a;
a^=s[(c)&255];
e+=d;
p[t]=a+b+c+d+e+(int)v+s[t];
}
extern "C" __global__ void k1402(int*p,const int*__restrict__ q,int n){
__shared__ int s[256];
int t=threadIdx.x,a=t+n,b=p[t],c=n,d=q[t],e=blockIdx.x;
double v=n;
p[c]=(p[a]*p[b]);
b=n;
for(int i0=0;i0<a;i0++){
s[(q[(n)&1023])&255]=q[(e)&1023];
do{
s[(p[d])&255]=p[a];
}
while(c<(n^c));
s[(q[(c)&1023])&255]=blockIdx.x;
s[((b^n))&255]=blockIdx.y;
}
for(int i0=0;i0<c;i0++){
s[(__shfl_xor_sync(~0u,c,2))&255]=d;
s[(n)&255]=p[a];
}
p[t]=a+b+c+d+e+(int)v+s[t];
}
extern "C" __global__ void k1138(int*p,const int*__restrict__ q,int n){
__shared__ int s[256];
int t=threadIdx.x,a=t+n,b=p[t],c=n,d=q[t],e=blockIdx.x;
double v=n;
if(e!=s[(d)&255]){
d+=s[(b)&255];
s[(a)&255]=blockIdx.x;
b+=q[(e)&1023];
p[c]=n;
}
s[(b)&255]=(int)__popc((int)(v*e));
d=p[n];
do{
if(e!=(d+n)){
s[(p[c])&255]=q[(d)&1023];
b^=p[c];
}
else{
b=((int)(v*(d-t))&(s[(a)&255]-s[(d)&255]));
}
if(e==p[t]){
if(t>e){
p[t]=blockIdx.x;
c^=(s[(p[e])&255]*q[(e)&1023]);
c=p[n];
}
}
else{
s[(s[(d)&255])&255]=p[n];
e=p[d];
c^=c;
p[d]=s[(p[t])&255];
}
s[(p[t])&255]=s[(s[(d)&255])&255];
}
while(c<(c*t));
s[(e)&255]=__shfl_xor_sync(~0u,d,2);
a=(int)(v*(int)__popc(t));
e^=a;
s[(q[(b)&1023])&255]=t;
p[b]=n;
p[t]=a+b+c+d+e+(int)v+s[t];
}
extern "C" __global__ void k1051(int*p,const int*__restrict__ q,int n){
__shared__ int s[256];
int t=threadIdx.x,a=t+n,b=p[t],c=n,d=q[t],e=blockIdx.x;
double v=n;
atomicAdd(p+c,d);
d=n;
atomicAdd(p+d,b);
if(d==(e^b)){
p[d]=e;
do{
b^=s[(p[n])&255];
if(t<c){
d^=__shfl_xor_sync(~0u,b,1);
e=(int)__popc((s[(c)&255]+q[(n)&1023]));
}
for(int i2=0;i2<n;i2++){
s[(b)&255]=a;
d^=s[(p[t])&255];
}
}
while(b==(int)__popc(t));
s[((a&b))&255]=s[(p[b])&255];
}
else{
a=q[(a)&1023];
s[(s[(b)&255])&255]=p[b];
s[(s[(c)&255])&255]=b;
d^=s[(q[(t)&1023])&255];
}
c=p[t];
p[t]=a+b+c+d+e+(int)v+s[t];
}
