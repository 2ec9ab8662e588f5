#include <cuda/std/complex>
#include <cuda/std/optional>
#include <cuda/std/tuple>
#include <cuda/std/variant>

using Value = cuda::std::variant<int, float, cuda::std::tuple<short, double>>;
__device__ cuda::std::optional<float> root(float x);

struct Show {
  __device__ float operator()(int v) const { return v; }
  __device__ float operator()(float v) const { return v * 2; }
  __device__ float operator()(cuda::std::tuple<short, double> v) const {
    return cuda::std::get<0>(v) + float(cuda::std::get<1>(v));
  }
};

__global__ void values(float *data, int kind) {
  Value value = kind == 0 ? Value(3) : kind == 1 ? Value(data[0]) : Value(cuda::std::make_tuple(short(1), 2.0));
  cuda::std::complex<float> c(data[1], data[2]);
  c = c * c / cuda::std::complex<float>(1.f, 3.f);
  data[3] = cuda::std::visit(Show{}, value) + c.real() + root(c.imag()).value_or(-1.f);
}
