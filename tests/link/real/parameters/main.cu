struct Big {
  float values[200];
  int count;
  char tag;
};
__device__ float total(const Big &big);
__global__ void big(const __grid_constant__ Big a, Big b, float *out, char c, short s, double d) {
  out[threadIdx.x] = total(a) + b.values[threadIdx.x] + c + s + d;
}
__global__ void none() {}
