__device__ int matrix[16] = {1, 2, 3, 4};
__device__ int *corner = &matrix[15];
__device__ int **way = &corner;
namespace work {
__device__ volatile float state = 1.f;
}
static __device__ int calls = 7;
__device__ int pick(int at) { return **way + calls + at; }
