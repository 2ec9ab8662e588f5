#include <cuComplex.h>

__device__ int escapes(cuDoubleComplex c, int limit) {
  cuDoubleComplex z = c;
  int i = 0;
  for (; i < limit && cuCabs(z) < 2; i++) z = cuCadd(cuCmul(z, z), c);
  return cuCreal(cuCdiv(z, c)) > 3 ? 0 : i;
}
