#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_store.cuh>

__device__ unsigned key_of(unsigned value);

__global__ void sort_tiles(unsigned *data) {
  using Load = cub::BlockLoad<unsigned, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<unsigned, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<unsigned, 128, 4>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Sort::TempStorage sort;
  } storage;
  unsigned keys[4];
  Load(storage.load).Load(data + blockIdx.x * 512, keys);
  __syncthreads();
  for (unsigned &key : keys) key = key_of(key);
  Sort(storage.sort).Sort(keys);
  __syncthreads();
  Store(storage.store).Store(data + blockIdx.x * 512, keys);
}
