// Parameters of class type, __grid_constant__, launch bounds with a cluster, managed data.
struct Big { int values[300]; };
struct Pair { double a; char b; };
__managed__ int counter = 5;
__global__ void __launch_bounds__(128, 2) by_reference(const __grid_constant__ Big big, Pair pair, int i, int *out)
{
    out[0] = big.values[i] + static_cast<int>(pair.a) + pair.b + counter;
}
__global__ void local_array(Big big, int i, int j, int *out)
{
    big.values[i] = 1;
    int scratch[40];
    for (int k = 0; k < 40; ++k) scratch[k] = out[k * j];
    out[0] = big.values[j] + scratch[i];
}
