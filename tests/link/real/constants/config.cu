struct Config {
  int width;
  float gains[3];
  const char *name;
};
__device__ const char label[] = "gains";
__constant__ Config config = {3, {1, 2, 3}, label};
static __constant__ float twist = 1.5f;
__device__ float gain(int at) { return config.gains[at % 3] * twist + config.name[at % 5]; }
