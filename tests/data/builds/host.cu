// Names that host code registers, uses, and leaves alone.
__constant__ int table[4];
static __constant__ int own_table[4];
__device__ int counter, idle;
static __device__ int own_counter;
__managed__ int shared_counter;
__global__ void launched(int *p) { *p = counter + table[1] + own_counter + own_table[2] + shared_counter; }
static __global__ void own_launched(int *p) { *p = 3; }
template <int N> __global__ void made(int *p) { *p = N; }
__global__ void never_launched(int *p) { *p = 7; }
int main()
{
    int *p = nullptr;
    launched<<<1, 1>>>(p);
    own_launched<<<1, 1>>>(p);
    made<5><<<1, 1>>>(p);
    cudaMemcpyToSymbol(table, p, 4);
    cudaMemcpyToSymbol(own_table, p, 4);
    cudaMemcpyFromSymbol(p, counter, 4);
    cudaMemcpyFromSymbol(p, own_counter, 4);
    shared_counter = 3;
    return 0;
}
