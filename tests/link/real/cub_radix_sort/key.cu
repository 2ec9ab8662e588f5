__device__ unsigned key_of(unsigned value) { return value ^ (value >> 31 ? 0xffffffffu : 0x80000000u); }
