#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ __half2 mix(__half2, __half2);
__global__ void halves(__half2 *data, __nv_bfloat16 *brains) {
  data[threadIdx.x] = __hfma2(data[threadIdx.x], mix(data[0], data[1]), h2exp(data[2]));
  brains[threadIdx.x] = hsqrt(brains[threadIdx.x]) + __float2bfloat16(1.5f);
  atomicAdd(data + 3, mix(data[2], data[1]));
}
