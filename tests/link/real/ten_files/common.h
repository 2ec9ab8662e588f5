#pragma once
__device__ int f1(int);
__device__ int f2(int);
__device__ int f3(int);
__device__ int f4(int);
__device__ int f5(int);
__device__ int f6(int);
__device__ int f7(int);
__device__ int f8(int);
extern __device__ int seen[8];
inline __device__ __noinline__ int mix(int a, int b) { return a * 31 + (b ^ (a >> 3)); }
