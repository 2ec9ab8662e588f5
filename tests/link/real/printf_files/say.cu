#include <cstdio>

__device__ void say(int who, double what) { printf("thread %d: %f %s\n", who, what, who & 1 ? "odd" : "even"); }
