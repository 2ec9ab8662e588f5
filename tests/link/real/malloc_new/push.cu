struct Node {
  int value;
  Node *next;
};
__device__ Node *push(Node *list, int value) { return new Node{value, list}; }
