__device__ int lane();
__global__ void words(int *out) {
  int id, value;
  asm("mov.u32 %0, %%smid;" : "=r"(id));
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; selp.s32 %0, 1, 2, p; }" : "=r"(value) : "r"(id));
  asm volatile("prefetch.global.L2 [%0];" ::"l"(out));
  asm volatile("bar.sync %0, 64;" ::"r"(value));
  if (out[1] == 99) __trap();
  out[0] = id + value + lane();
}
