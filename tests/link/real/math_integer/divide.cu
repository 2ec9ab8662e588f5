__device__ unsigned long long divide(unsigned long long a, unsigned long long b) {
  return a / b + a % b + __umulhi(a, b) + __dp4a(int(a), int(b), 5) + __vadd4(a, b) + __sad(a, b, 3);
}
