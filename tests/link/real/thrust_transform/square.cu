struct Square {
  __device__ float operator()(float x) const;
};

__device__ float Square::operator()(float x) const { return x * x; }
