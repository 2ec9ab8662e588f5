__device__ void step(float *data, int at, int count) {
  data[at] = 0.25f * (data[at] + data[(at + 1) % count] + data[(at + count - 1) % count]);
}
