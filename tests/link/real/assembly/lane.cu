__device__ int lane() {
  int at;
  asm("mov.u32 %0, %%laneid;" : "=r"(at));
  if (at > 40) asm volatile("exit;");
  return at;
}
