// Random kernels: `stalls` lets a barrier be seen in cycles that were for others; the block of
// `operands` ends before its operands are read.
#include <cuda_fp16.h>
__global__ void stalls(const float* a, const float* b, float* o, int* c, double* dd, __half* h, long long* l, int n, float s0) {
 __shared__ float sh[256]; __shared__ double shd[256]; int i = blockIdx.x * blockDim.x + threadIdx.x, k = n & 7; float x = a[i], y = b[i], z = s0;

 if (c[c[c[i]]] > k) { while (b[i] > 0.997f) { k = c[(i+k)&1023] + n; z *= s0; x = ((float)(l[(i+k)&1023] * (long long)y) + sh[threadIdx.x]); float4 v6 = ((const float4*)a)[i+1]; ((float4*)o)[i] = make_float4(v6.x * x, v6.y + y, v6.z, v6.w * (float)h[c[i]]); x *= .5f; if (k++ > n) break; } dd[i*2] = dd[i] - (double)s0; } y -= sh[k&255]; o[n-1] = __shfl_xor_sync(~0u,y,16); o[i+1] = (a[n-1] * ((float)h[(i+k)&1023] + ((float)i + z))); switch (k & 3) { case 0: o[i+1] = (float)(dd[(i+k)&1023] + (double)fmaxf(y,0.240f)); o[k] = z; break; case 1: o[i] = (exp2f(s0) * 0.297f); l[i] = l[i] + (long long)(x + ((float)(l[i*2] * (long long)y) + (y - z))); break; default: k = c[c[i] & 255] ^ k; } if (i < n) { if (c[c[i] & 255] > k) { switch (k & 3) { case 0: x *= fmaxf((((float)i + x) + (z * x)),z); z += ((float)i * (0.606f + s0)); break; case 1: z += (x - s0); break; default: z += (__fdividef(sh[c[i]&127],y) * (__logf(z) * (z + s0))); o[k] = (((s0 + s0) > (float)(dd[i*2] * (double)z) ? sh[k&255] : ((float)i > x ? y : 0.178f)) * s0); } if (k & 1) { dd[c[i]] = dd[i] + (double)y; o[c[i]] = x; z += (float)h[c[i+1]]; } else { z += (float)i; } } dd[c[i+1]] = dd[i] - (double)0.225f; x += atomicAdd(&o[(i+k)&1023], s0); x += atomicAdd(&o[c[c[i]]], b[i+1]); } o[i] = b[i*2];
 o[i] = x + y * z + k; }
__global__ void operands(const float* __restrict__ a, const float* b, float* o, int* c, double* dd, __half* h, long long* l, int n, float s0) {
 __shared__ float sh[256]; __shared__ double shd[256]; int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0; float x = a[i], y = b[i], z = s0;

 sh[k&255] = ((y * __shfl_xor_sync(~0u,y,1)) - s0); __syncthreads(); y *= fabsf(fabsf((float)(l[n-1] * (long long)0.033f))); y = (float)i;
#pragma unroll 1
for (int j4 = 0; j4 < 16; j4++) { float t = a[j4];

for (int j5 = 0; j5 < 16; j5++) { float t = a[j5]; if (i < n) { x += (fmaxf((t * 0.994f),y) - 0.197f); y = ((0.309f * (float)(dd[c[i]] + (double)y)) + (t + ((float)i * z))); z += exp2f(((s0 + z) * y)); } else { y = sh[threadIdx.x]; } z += exp2f(0.734f); sh[threadIdx.x] = a[c[i] & 255]; x *= ((0.363f - fmaxf(y,(float)i)) * (float)(dd[(i+k)&1023] * (double)b[c[i] & 255])); } o[c[i] & 255] = ((s0 * b[i]) + y); x *= (float)h[c[i]]; } z = ((__shfl_down_sync(~0u,(float)i,2) - ((float)i + (float)i)) * sh[c[i]&127]); z *= ((sh[i&63] + (float)i) - (float)i); x += (float)(dd[i*2] * (double)(rsqrtf(x) > a[(i+k)&1023] ? b[i*2] : a[i*2]));
 o[i] = x + y * z + k; }
