.section __nv_relfatbin,"a"
.align 8
.ascii "this is no fatbin at all"
.section .nvFatBinSegment,"aw"
.align 8
.long 0x466243b1
.long 1
.quad __nv_relfatbin
.quad 0
