#include <cstdio>
namespace ns { template<class T,int N> struct S{ T v[N]; __device__ __noinline__ T sum() const { T r=0; for(int i=0;i<N;i++) r+=v[i]; return r; } __device__ __noinline__ S& operator+=(const S&o){ for(int i=0;i<N;i++) v[i]+=o.v[i]; return *this; } static __device__ __noinline__ T st(T*p){ return *p; } };
 namespace { __device__ __noinline__ int hidden(int x){ return x^3; } } }
template<class T> __device__ __noinline__ T mx(T a,T b){ return a>b?a:b; }
template<class...Ts> __device__ __noinline__ int cnt(Ts...ts){ return sizeof...(Ts)+(... + (int)ts); }
template<> __device__ __noinline__ float mx<float>(float a,float b){ return fmaxf(a,b); }
extern "C" __device__ int cfun(int); extern __device__ int (*fp)(int,float*); __device__ int operator""_q(unsigned long long v);
typedef int (*cb)(const char*, unsigned char, long long&, double**); __device__ __noinline__ int take(cb f,bool b,wchar_t w,char16_t c){ return f?b+w+c:0; }
template<template<class,int> class C,class T> __device__ __noinline__ T tt(C<T,3>*c){ return c->sum(); }
enum class E{a,b}; template<E e,bool B> __device__ __noinline__ int en(int x){ return x+(int)e+B; }
__global__ void k(ns::S<int,3>*s,float*f,int*o,int (&arr)[4],const volatile int*cv){ *s+=s[1]; o[0]=s->sum()+ns::S<int,3>::st(o)+ns::hidden(o[1])+mx(o[2],o[3])+cnt(o[0],2.f,'c')+cfun(3)+fp(1,f)+tt(s)+en<E::b,true>(o[1])+arr[1]+*cv; f[0]=mx(f[1],f[2]); o[1]=take(nullptr,o[3],o[4],u'x'); auto l=[=](int q){ return q+o[0]; }; o[2]=mx(l(3),4); }
template<class T> __global__ void tk(T*o,ns::S<T,2> x){ *o=x.sum()+mx(*o,T(1)); } template __global__ void tk<double>(double*,ns::S<double,2>); template __global__ void tk<unsigned short>(unsigned short*,ns::S<unsigned short,2>);
