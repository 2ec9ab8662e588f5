__device__ bool ready(int *count) { return atomicInc(reinterpret_cast<unsigned *>(count), gridDim.x) == gridDim.x - 1; }
