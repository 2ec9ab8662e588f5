__constant__ int first[25] = {1};
__constant__ int own[3] = {1, 2, 3};
__global__ void k(int* p) { *p = own[0] + first[1]; }
__global__ void dead(int* p) { *p = own[1]; }
int main() { k<<<1, 1>>>(0); }
