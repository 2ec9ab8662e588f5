template <class T>
struct Stack {
  T items[8];
  int count = 0;
  __device__ __noinline__ void push(T item) { items[count++ & 7] = item; }
  __device__ __noinline__ T pop() { return items[--count & 7]; }
};

template <class T>
__device__ T table[4];

inline __device__ int counter = 5;
