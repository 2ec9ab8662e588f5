__global__ void leaf(int *data, int depth);

__global__ void node(int *data, int depth) {
  data[depth] = depth;
  if (depth < 4) {
    node<<<1, 1>>>(data, depth + 1);
    leaf<<<2, 32, 64>>>(data, depth);
  }
}

int main() {
  node<<<1, 1>>>(nullptr, 0);
  return 0;
}
