# A host object of Windows as nvcc and cl make it: device code, names and start-up code of host.rdc.o,
# in sections and calls as cudadevrt.lib of CUDA 12.9 has them. `idle` and `shared_counter` are left out.
	.section __nv_module_id,"dr"
	.asciz "_4842af2b_7_host_cu_3040c4ba"
	.section .nvHRKE,"dr"
	.asciz "_Z4made*"
	.asciz "_Z8launched*"
	.section .nvHRKI,"dr"
	.asciz "__nv_static_28__4842af2b_7_host_cu_3040c4ba_*12own_launched*"
	.asciz "__nv_static_28__4842af2b_7_host_cu_3040c4ba_*4made*"
	.section .nvHRDE,"dr"
	.asciz "counter"
	.asciz "shared_counter"
	.section .nvHRDI,"dr"
	.asciz "__nv_static_28__4842af2b_7_host_cu_3040c4ba_*own_counter"
	.section .nvHRCE,"dr"
	.asciz "table"
	.section .nvHRCI,"dr"
	.asciz "__nv_static_28__4842af2b_7_host_cu_3040c4ba_*own_table"
	.section __nv_relfatbin,"dr"
	.p2align 3
fatbinData:
	.incbin "relfatbin.bin"
	.section .nvFatBinSegment,"dr"
	.p2align 3
	.long 0x466243b1, 1
	.quad fatbinData, 0
	.section .rdata,"dr",discard,"??_C@0@_Z14never_launchedPi@"
	.globl "??_C@0@_Z14never_launchedPi@"
"??_C@0@_Z14never_launchedPi@":
	.asciz "_Z14never_launchedPi"
	.section .rdata,"dr",discard,"??_C@1@_Z4madeILi5EEvPi@"
	.globl "??_C@1@_Z4madeILi5EEvPi@"
"??_C@1@_Z4madeILi5EEvPi@":
	.asciz "_Z4madeILi5EEvPi"
	.section .rdata,"dr",discard,"??_C@2@_Z8launchedPi@"
	.globl "??_C@2@_Z8launchedPi@"
"??_C@2@_Z8launchedPi@":
	.asciz "_Z8launchedPi"
	.section .rdata,"dr",discard,"??_C@3@__nv_static_28__4842@"
	.globl "??_C@3@__nv_static_28__4842@"
"??_C@3@__nv_static_28__4842@":
	.asciz "__nv_static_28__4842af2b_7_host_cu_3040c4ba__Z12own_launchedPi"
	.section .rdata,"dr",discard,"??_C@4@counter@"
	.globl "??_C@4@counter@"
"??_C@4@counter@":
	.asciz "counter"
	.section .rdata,"dr",discard,"??_C@5@__nv_static_28__4842@"
	.globl "??_C@5@__nv_static_28__4842@"
"??_C@5@__nv_static_28__4842@":
	.asciz "__nv_static_28__4842af2b_7_host_cu_3040c4ba_own_counter"
	.section .rdata,"dr",discard,"??_C@6@__nv_static_28__4842@"
	.globl "??_C@6@__nv_static_28__4842@"
"??_C@6@__nv_static_28__4842@":
	.asciz "__nv_static_28__4842af2b_7_host_cu_3040c4ba_own_table"
	.section .rdata,"dr",discard,"??_C@7@table@"
	.globl "??_C@7@table@"
"??_C@7@table@":
	.asciz "table"
	.section .rdata,"dr"
host_table:
	.space 16
	.section .bss,"bw"
handle:
	.space 8
host_counter:
	.space 4
	.section .text,"xr"
stub:
	ret
register_all:
	leaq "??_C@0@_Z14never_launchedPi@"(%rip), %r9
	leaq "??_C@0@_Z14never_launchedPi@"(%rip), %r8
	leaq stub(%rip), %rdx
	movq handle(%rip), %rcx
	callq __cudaRegisterFunction
	leaq "??_C@1@_Z4madeILi5EEvPi@"(%rip), %r9
	leaq "??_C@1@_Z4madeILi5EEvPi@"(%rip), %r8
	leaq stub(%rip), %rdx
	movq handle(%rip), %rcx
	callq __cudaRegisterFunction
	leaq "??_C@2@_Z8launchedPi@"(%rip), %r9
	leaq "??_C@2@_Z8launchedPi@"(%rip), %r8
	leaq stub(%rip), %rdx
	movq handle(%rip), %rcx
	callq __cudaRegisterFunction
	leaq "??_C@3@__nv_static_28__4842@"(%rip), %r9
	leaq "??_C@3@__nv_static_28__4842@"(%rip), %r8
	leaq stub(%rip), %rdx
	movq handle(%rip), %rcx
	callq __cudaRegisterFunction
	leaq "??_C@4@counter@"(%rip), %r9
	leaq "??_C@4@counter@"(%rip), %r8
	leaq host_counter(%rip), %rdx
	movq handle(%rip), %rcx
	callq __cudaRegisterVar
	leaq "??_C@5@__nv_static_28__4842@"(%rip), %r9
	leaq "??_C@5@__nv_static_28__4842@"(%rip), %r8
	leaq host_counter(%rip), %rdx
	movq handle(%rip), %rcx
	callq __cudaRegisterVar
	leaq "??_C@6@__nv_static_28__4842@"(%rip), %r9
	leaq "??_C@6@__nv_static_28__4842@"(%rip), %r8
	leaq host_table(%rip), %rdx
	movq handle(%rip), %rcx
	callq __cudaRegisterVar
	leaq "??_C@7@table@"(%rip), %r9
	leaq "??_C@7@table@"(%rip), %r8
	leaq host_table(%rip), %rdx
	movq handle(%rip), %rcx
	callq __cudaRegisterVar
	ret
