extern "C" __global__ void switch24(const float *x, const float *y, float *out, float *seen, int n, int kind, int step)
{
    __shared__ float part[256];
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.f, other = 1.f;
    if (n > 11) { part[threadIdx.x] = sum; }
    part[threadIdx.x] = y[at];
    part[threadIdx.x] = sum;
    other = sum + other;
    part[threadIdx.x] = other;
    sum += __shfl_xor_sync(~0u, sum, 8);
    if (n > 3) switch (kind) {
    case 0: __syncthreads(); break;
    case 1: other = x[at] + part[threadIdx.x&31]; part[threadIdx.x] = x[at+n]; __syncthreads(); break;
    case 2: other = sum + other; sum += __shfl_xor_sync(~0u, sum, 8); break;
    case 3: sum += __expf(seen[at]); break;
    case 4: sum += __expf(sum); sum += y[at] * seen[at]; sum += __expf(sum); break;
    case 5: seen[at + 2] = other; break;
    case 6: sum += __shfl_xor_sync(~0u, sum, 8); sum += __shfl_xor_sync(~0u, sum, 8); break;
    }
    other = part[threadIdx.x&31] + x[at+n]; part[threadIdx.x] = sum;
    out[at] = sum + other;
}

extern "C" __global__ void switch27(const float *x, const float *y, float *out, float *seen, int n, int kind, int step)
{
    __shared__ float part[256];
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.f, other = 1.f;
    sum += __shfl_xor_sync(~0u, sum, 8);
    sum += __shfl_xor_sync(~0u, sum, 8);
    seen[at + 1] = x[at];
    sum += __shfl_xor_sync(~0u, sum, 8);
    for (int i = at; i < n; i += step) { sum += x[i] * seen[at]; other += y[i]; }
    sum += __shfl_xor_sync(~0u, sum, 8);
    switch (kind) {
    case 0: part[threadIdx.x] = y[at]; seen[at + 7] = other; break;
    case 1: if (n > 41) { part[threadIdx.x] = sum; } if (n > 27) { sum += x[at]; } sum += sum * x[at+n]; 
    case 2: __syncthreads(); break;
    case 3: sum += __expf(part[threadIdx.x&31]); seen[at + 8] = y[at]; other = x[at+n] + other; break;
    case 4: sum += other * sum; for (int i = at; i < n; i += step) { sum += x[i] * x[at]; other += y[i]; } part[threadIdx.x] = x[at+n]; break;
    case 5: for (int i = at; i < n; i += step) { sum += x[i] * x[at]; other += y[i]; } part[threadIdx.x] = sum; break;
    }
    sum += __expf(part[threadIdx.x&31]); if (n > 26) { part[threadIdx.x] = sum; }
    out[at] = sum + other;
}

