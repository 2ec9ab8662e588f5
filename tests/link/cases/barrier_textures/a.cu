// Kernels in which barriers of textures, of fences and of results in other blocks show.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void edges(unsigned char *out, unsigned pitch, int w, int h, float scale,
                      cudaTextureObject_t image)
{
    unsigned char *row = out + blockIdx.x * pitch;
    for (int i = threadIdx.x; i < w; i += blockDim.x) {
        float sum = 0;
        for (int y = -1; y <= 1; y++)
            for (int x = -1; x <= 1; x++)
                sum += (x + 2 * y) * tex2D<unsigned char>(image, i + x, (float)blockIdx.x + y);
        row[i] = (unsigned char)fminf(fmaxf(sum * scale, 0.f), 255.f);
    }
}

template <int N> __device__ __forceinline__ void tiles(float *c, float *a, float *b, int wa, int wb)
{
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int from = wa * N * by, to = from + wa - 1;
    float sum = 0;
    for (int i = from, j = N * bx; i <= to; i += N, j += N * wb) {
        __shared__ float as[N][N];
        __shared__ float bs[N][N];
        as[ty][tx] = a[i + wa * ty + tx];
        bs[ty][tx] = b[j + wb * ty + tx];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < N; ++k)
            sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[wb * N * by + N * bx + wb * ty + tx] = sum;
}
__global__ void tiles16(float *c, float *a, float *b, int wa, int wb) { tiles<16>(c, a, b, wa, wb); }
__global__ void tiles8(float *c, float *a, float *b, int wa, int wb) { tiles<8>(c, a, b, wa, wb); }

template <typename T, int N> __device__ __forceinline__ void sum(T *out, unsigned n)
{
    __shared__ cg::block_tile_memory<1024> memory;
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<N>(block);
    extern __shared__ double words[];
    T *part = (T *)words;
    T v = 0;
    for (unsigned i = block.thread_rank(); i < n; i += block.size()) v += out[i];
    v = cg::reduce(tile, v, cg::plus<T>());
    if (tile.thread_rank() == 0) part[block.thread_rank() / N] = v;
    block.sync();
    if (block.thread_rank() < 32) out[block.thread_rank()] = part[block.thread_rank()];
}
__global__ void sum128(float *out, unsigned n) { sum<float, 128>(out, n); }
__global__ void sum64(double *out, unsigned n) { sum<double, 64>(out, n); }
__global__ void sum256(int *out, unsigned n) { sum<int, 256>(out, n); }
