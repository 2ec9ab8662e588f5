"""Names in call graphs, as nvlink 13.0.88 prints them for functions of these names."""

from __future__ import annotations

import pytest

from cubinspec_writer.linker.reports.cxxnames import cxx_name

NAMES = {
    "_Z4kernPKiPiN1n1PEPf": "kern(const int *, int *, n::P, float *)",
    "_Z2f1PKcPcRVKiPPiPKPKi": (
        "f1(const char *, char *, const volatile int &, int **, const int *const *)"
    ),
    "_Z2f3PFiPKcfERA3_iPA4_A5_KiMN1n1QEi": (
        "f3(int (*)(const char *, float), int (&)[3], const int (*)[4][5], int  :: n::Q::*)"
    ),
    "_Z2f5MN1n1QEFiiE": "f5(int ( :: n::Q::*)(int))",
    "_Z2mxItET_S0_S0_": "T1 mx<unsigned short>(T1, T1)",
    "_Z2tkItEvPT_N2ns1SIS0_Li2EEE": "void tk<unsigned short>(T1 *, ns::S<T1, (int)2>)",
    "_Z2ttIN2ns1SEiET0_PT_IS2_Li3EE": "T2 tt<ns::S, int>(T1<T2, (int)3> *)",
    "_Z3cntIJifcEEiDpT_": "int cnt<int, float, char>(T1...)",
    "_Z2enIL1E1ELb1EEii": "int en<(E)1, (bool)1>(int)",
    "_ZNK2ns1SItLi2EE3sumEv": "ns::S<unsigned short, (int)2>::sum() const",
    "_ZN2ns1SIiLi3EEpLERKS1_": "ns::S<int, (int)3>::operator +=(const ns::S<int, (int)3>&)",
    "_ZNK1n1QcvbEv": "n::Q::operator bool() const",
    "_ZN1n1QnwEmi": "n::Q::operator new (unsigned long, int)",
    "_ZN1VD0Ev": "V::~V() [deleting]",
    "_ZThn16_N1C1gEf": "Thunk for (offset -16) C::g(float)",
    "_ZTv0_n32_NK2Ci5cloneEv": "Thunk for (offset 0, virtual offset -32) Ci::clone() const",
    "_Z3runIZ4hostPiEUliE0_EvT_S0_": (
        "void run<host(int *)::[lambda(int) (instance 2)]>(T1, int *)"
    ),
    "_ZZ2kcPiiENUlS_iE_4_FUNES_i": (
        "kc(int *, int)::[lambda(int *, int) (instance 1)]::_FUN(int *, int)"
    ),
    "_ZZ2kkPiiENKUliE10_clEi": (
        "kk(int *, int)::[lambda(int) (instance 12)]::operator ()(int) const"
    ),
    "_ZZ2kcPiiENKUlT_iE_clIfEEDaS0_i": (
        "auto kc(int *, int)::[lambda(T1, int) (instance 1)]::operator ()<float>(T1, int) const"
    ),
    "_ZZ2kkPiiENKUlOT_RKT0_PT1_E_clIRiliEEDcS1_S4_S6_": (
        "decltype(auto) kk(int *, int)::[lambda(T1 &&, const T2 &, T3 *) (instance 1)]::operator ()"
        "<int &, long, int>(T1 &&, const T2 &, T3 *) const"
    ),
    "_ZZZ2kcPiiENKUliE_clEiENKUliE_clEi": (
        "kc(int *, int)::[lambda(int) (instance 1)]::operator ()(int) const::[lambda(int)"
        " (instance 1)]::operator ()(int) const"
    ),
    "_ZZ3lociEN1A1sES_": "loc(int)::A::s(A)",
    "_ZZ3lociENK1A1mE_0c": "loc(int)::A::m (instance 2)(char) const",
    "_ZZ2kkPiiEN1E1uE__10_v": "kk(int *, int)::E::u (instance 12)()",
    "_Z2ttIZ2kkPiiE1A_0EiT_": "int tt<kk(int *, int)::A (instance 2)>(T1)",
    "_Z2ttIZ2kkPiiE1E__13_EiT_": "int tt<kk(int *, int)::E (instance 15)>(T1)",
    "_ZN1WIiE2inIfEET_iS2_PS_IS2_E": "T1 W<int>::in<float>(int, T1, W<T1>*)",
    "_Z4manyIilcdfsjmhbxayiEiT_T0_T1_T2_T3_T4_T5_T6_T7_T8_T9_T10_T11_PT12_": (
        "int many<int, long, char, double, float, short, unsigned int, unsigned long,"
        " unsigned char, bool, long long, signed char, unsigned long long, int>(T1, T2, T3, T4, T5,"
        " T6, T7, T8, T9, T10, T11, T12, T13, T14 *)"
    ),
    "_ZN12_GLOBAL__N_12An2meEPS0_": "<unnamed>::An::me(<unnamed>::An*)",
    "_Z3vldPrPhXT_E": None,
    "_Z3vldPrPh": "vld(unsigned char *restrict *)",
    "_ZN4cuda3std3__47forwardIRiEEOT_RNS1_16remove_referenceIS4_E4typeE": (
        "T1 && cuda::std::__4::forward<int &>(cuda::std::__4::remove_reference<T1>::type &)"
    ),
    (
        "_ZN4cuda3std3__422__atomic_load_dispatchINS1_16__atomic_storageIiEENS1_25__thread_scope"
        "_device_tagELi0EEENT_14__underlying_tEPKS6_NS1_12memory_orderET0_"
    ): (
        "T1::__underlying_t cuda::std::__4::__atomic_load_dispatch<cuda::std::__4::__atomic_storage"
        "<int>, cuda::std::__4::__thread_scope_device_tag, (int)0>(const T1*,"
        " cuda::std::__4::memory_order, T2)"
    ),
    "_Z1kv$12": "k()",
    "_Z1kv$1a": None,
    "_Z1kv$x$y": "[clone k()] x$y",
    "_Z1kv$": "[clone k()] ",
    "$_Z1kPi$own$0": "[clone k(int *)] own$0",
    "$_Z1kPi$__internal_5_$__cuda_sm20_div": "[clone k(int *)] __internal_5_$__cuda_sm20_div",
    "_Z1kv$_Z1lv$_Z1mv$7": "[clone [clone k()] l()] m()",
    "_Z1kv$_Z1lvX": None,
    "$_Z1kv": "k()",
    "$k$_Z1lv": None,
    "$$_Z1kv": None,
    "__nv_static_25__bab6a54c_4_a_cu_ee21933e__Z3ownPi": "own(int *)",
    "__nv_static_03_abc__Z1kv$x": "[clone k()] x",
    "__nv_static_0___Z1kv": "k()",
    "__nv_static_24__bab6a54c_4_a_cu_ee21933e__Z3ownPi": None,
    "__nv_static_3_abc_own": None,
    "$__nv_static_3_abc__Z1kv$own": None,
    "__nv_static_" + "9" * 5000 + "_": None,
    "_ZQQ": None,
    "_Z999f": None,
    "_Z1fS9_": None,
    "_Z1f" + "P" * 5000 + "i": None,
    "plain": None,
}


@pytest.mark.parametrize("mangled", NAMES, ids=lambda name: name[:40])
def test_a_name_is_written_as_nvlink_does(mangled: str) -> None:
    assert cxx_name(mangled) == NAMES[mangled]
