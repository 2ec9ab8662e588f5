__device__ unsigned groups(int value) {
  unsigned mask = __match_any_sync(~0u, value & 3);
  int all;
  __match_all_sync(~0u, value, &all);
  return __popc(mask) + all;
}
