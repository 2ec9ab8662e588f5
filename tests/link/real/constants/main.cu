struct Config {
  int width;
  float gains[3];
  const char *name;
};
extern __constant__ Config config;
__constant__ int table[64];
static __constant__ double twist = 2.5;
__device__ float gain(int at);
__global__ void use(float *out) { out[threadIdx.x] = gain(threadIdx.x) * twist + table[threadIdx.x & 63] + config.width; }
