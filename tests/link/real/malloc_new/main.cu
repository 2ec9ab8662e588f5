struct Node {
  int value;
  Node *next;
};
__device__ Node *push(Node *list, int value);

__global__ void lists(int *out) {
  Node *list = nullptr;
  for (int i = 0; i < 4; i++) list = push(list, i);
  int *raw = static_cast<int *>(malloc(64));
  if (raw) raw[0] = list->value;
  out[threadIdx.x] = raw ? raw[0] : 0;
  free(raw);
  while (list) {
    Node *next = list->next;
    delete list;
    list = next;
  }
}
