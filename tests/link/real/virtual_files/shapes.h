struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual void grow(float by) = 0;
  __device__ virtual ~Shape() {}
};

struct Circle : Shape {
  float radius;
  __device__ explicit Circle(float r) : radius(r) {}
  __device__ float area() const override;
  __device__ void grow(float by) override;
};

struct Box : Shape {
  float width, height;
  __device__ Box(float w, float h) : width(w), height(h) {}
  __device__ float area() const override { return width * height; }
  __device__ void grow(float by) override;
};
