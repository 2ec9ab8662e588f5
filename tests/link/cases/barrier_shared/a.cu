// Kernels in which barriers share numbers: `hist` has operands that pass the wait for a neighbour,
// and an end of a loop that waits in the input; `gemm` an end of a block that waits for a result and
// not for operands; `rounds` sets a number again that the round before has left; `leaves` has a
// result that leaves its block.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void hist(const unsigned* in, unsigned* bins, int n) {
  __shared__ unsigned s[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { unsigned v = in[i]; atomicAdd(&s[v & 255], 1); atomicAdd(&s[v >> 8 & 255], 1); }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) if (s[i]) atomicAdd(&bins[i], s[i]);
}
__global__ void gemm(const half* A, const half* B, half* C, int n) {
  __shared__ half sa[64][40], sb[32][72]; int w = threadIdx.x / 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, half> acc[2]; for (auto& f : acc) wmma::fill_fragment(f, __float2half(0));
  for (int k = 0; k < n; k += 32) {
    for (int i = threadIdx.x; i < 64 * 4; i += blockDim.x) *(uint4*)&sa[i / 4][i % 4 * 8] = *(const uint4*)&A[(blockIdx.y * 64 + i / 4) * n + k + i % 4 * 8];
    for (int i = threadIdx.x; i < 32 * 8; i += blockDim.x) *(uint4*)&sb[i / 8][i % 8 * 8] = *(const uint4*)&B[(k + i / 8) * n + blockIdx.x * 64 + i % 8 * 8];
    __syncthreads();
    for (int kk = 0; kk < 32; kk += 16) { wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa; wmma::load_matrix_sync(fa, &sa[w % 4 * 16][kk], 40); for (int j = 0; j < 2; j++) { wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb; wmma::load_matrix_sync(fb, &sb[kk][(w / 4 * 2 + j) * 16], 72); wmma::mma_sync(acc[j], fa, fb, acc[j]); } }
    __syncthreads();
  }
  for (int j = 0; j < 2; j++) wmma::store_matrix_sync(C + (blockIdx.y * 64 + w % 4 * 16) * n + blockIdx.x * 64 + (w / 4 * 2 + j) * 16, acc[j], n, wmma::mem_row_major);
}
__global__ void rounds(const float* __restrict__ a, const float* b, float* o, int* c, double* dd, __half* h, long long* l, int n, float s0) {
 __shared__ float sh[256]; __shared__ double shd[256]; int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0; float x = a[i], y = b[i], z = s0;

 switch (k & 3) { case 0: atomicAdd(&o[c[i+1]], __logf(sh[c[i]&127])); o[i+1] = y; break; case 1: x += 0.280f; switch (k & 3) { case 0: sh[threadIdx.x] = (sh[threadIdx.x^1] > (fabsf((float)i) + y) ? (float)(dd[c[c[i]]] + (double)b[i*2]) : s0); o[c[i+1]] = y; break; case 1:
#pragma unroll 1
for (int j8 = 0; j8 < c[i]; j8++) { float t = a[j8]; o[i+1] = (float)(dd[c[i] & 255] + (double)y); } break; default: switch (k & 3) { case 0: k = c[c[i+1]] + k; z += x; dd[c[i]] = dd[i] + (double)(float)(dd[c[i]] + (double)(float)i); z = y; break; case 1: z -= ((float)i > (sqrtf(s0) > a[c[i] & 255] ? a[c[c[i]]] : z) ? x : (b[c[i]] > (0.797f + (float)i) ? sh[i&63] : z)); o[n-1] = y; z += y; break; default: z += b[k]; y *= a[i+1]; z += (float)i; } } break; default: sh[threadIdx.x^1] = a[c[c[i]]]; while (((0.040f + y) > (0.249f + y) ? (float)i : a[c[i+1]]) > (sh[threadIdx.x] * (x - (z + y)))) { x = y; x -= sh[k&255]; x *= .5f; if (k++ > n) break; } } sh[i&63] = ((a[i*2] - (y * z)) - (float)i); __syncthreads(); o[c[i+1]] = z; switch (k & 3) { case 0: k ^= atomicMax((int*)&c[c[c[i]]], (int)b[(i+k)&1023]); z -= fabsf(s0); z -= (float)i; break; case 1:
#pragma unroll 1
for (int j31 = 0; j31 < 16; j31++) { float t = a[j31]; z += y; x = (t * a[c[i]]); y -= fmaxf(((float)i * sh[i&63]),((float)h[i*2] > (0.899f * t) ? z : __sinf(t))); } if ((float)(l[c[c[i]]] * (long long)(fabsf(y) + (float)i)) > 0.702f) { k = c[c[i] & 255] ^ n; if (k & 1) { y -= (((float)(l[n-1] * (long long)s0) + (0.070f > 0.601f ? 0.637f : s0)) * __fdividef(y,y)); o[i*2] = (float)h[c[i+1]]; sh[c[i]&127] = (y - 0.821f); y *= y; } y -= sh[c[i]&127]; } else { y -= (float)h[i*2]; o[c[i]] = y; k = c[i+1] ^ 3; k = c[c[i+1]] & n; } break; default:
#pragma unroll 1
for (int j47 = 0; j47 < c[i]; j47++) { float t = a[j47];
#pragma unroll 1
for (int j48 = 0; j48 < 16; j48++) { float t = a[j48]; o[c[i]] = (float)h[c[i+1]]; o[i+1] = ((float)(dd[c[i] & 255] * (double)y) + (float)i); }

for (int j51 = 0; j51 < n; j51++) { float t = a[j51]; z += __logf(s0); x += atomicAdd(&o[c[i] & 255], (fmaxf(sh[i&63],0.165f) - t)); } dd[(i+k)&1023] = dd[i] + (double)b[n-1]; } if (i < n) { while (y > (0.640f - ((s0 * 0.105f) * ((float)i + x)))) { o[i+1] = (__sinf(y) - (float)i); x *= fmaxf((float)i,(b[c[i]] * fmaxf(0.028f,s0))); x *= .5f; if (k++ > n) break; } if (s0 > (b[c[i] & 255] * s0)) { sh[threadIdx.x^1] = 0.201f; y -= fmaxf(z,fmaxf((0.710f - x),(float)(dd[n-1] * (double)y))); y -= a[n-1]; x += y; } } } if (i < n) {

for (int j65 = 0; j65 < c[i]; j65++) { float t = a[j65]; sh[threadIdx.x^1] = (sh[i&63] - sh[c[i]&127]); } }
 o[i] = x + y * z + k; }
__global__ void leaves(const float* a, const float* b, float* o, int* c, double* dd, __half* h, long long* l, int n, float s0) {
 __shared__ float sh[256]; __shared__ double shd[256]; int i = blockIdx.x * blockDim.x + threadIdx.x, k = n & 7; float x = a[i], y = b[i], z = s0;

 while (y > ((float)h[(i+k)&1023] - x)) { z += y; x *= .5f; if (k++ > n) break; }
#pragma unroll 1
for (int j3 = 0; j3 < 16; j3++) { float t = a[j3]; o[c[i]] = __shfl_xor_sync(~0u,(float)i,1); }
 o[i] = x + y * z + k; }
