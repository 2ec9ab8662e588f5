"""What imitates the finalizer: all code of the linker that depends on instructions.

**What the finalizer is.** From sm_100 on every object holds each program twice: as SASS, and as
Mercury code, an encoding of its own that becomes SASS in the end. nvlink links the Mercury half.
Then a part of it that names of attributes call the finalizer (`EIATTR_MERCURY_FINALIZER_OPTIONS`)
translates the linked Mercury code to SASS. It makes the sections of the SASS half from those of the
Mercury half: they were made under Mercury names and are renamed, debug tables are written anew, and
parameter banks are added last.

**What the evidence is.** All that is said here was seen in inputs and outputs of tools that were
run as black boxes: nvlink 13.0.88 on the link cases and on random programs, and ptxas on small PTX
files. Each module names the cases that show its rules. Mercury code itself is not documented and is
not read here, beyond the lengths of instructions that a capsule tells.

**What is imitated.** This linker has no translator. It links both halves with the same passes: the
Mercury half from the Mercury sections of the inputs, the SASS half from the SASS that ptxas wrote
beside them. In nearly all functions that SASS is what the finalizer makes, once relocations are
applied. The rest is imitated here:

`translate`, `fences`, `moved`, `places`
    fences of kernels that call nothing become shorter, and ends of kernels longer where there is
    debug data. That is done to the inputs, before the passes.
`relocations`
    those of the SASS half are made from those of the Mercury half, also before the passes.
`capsules`
    values of applied relocations are also written into Mercury code.
`jumps`
    jump tables hold places in Mercury code and get the matching places in SASS.
`flow`
    instructions, and which can follow which.
`operands`, `paths`, `lifetimes`, `barriers`
    which registers are named, what can run behind an instruction, how long barriers are in use,
    and which one takes whose place.
`schedule`
    a stack pointer that is loaded and never used sets no barrier, so other barriers move.
`stubs`
    the table of unified functions: its slots shrink when Mercury code becomes SASS.
`frames`, `line_tables`, `kept_lines`, `lines`, `registers`, `kept`
    debug tables of the SASS half lose entries of functions that are not linked.
`offsets`
    where the SASS of a Mercury instruction is, for debug data of copies that are not linked.
`fastpath`
    one record of `.nv.compat` says whether the linked code allows a fast finalization.
`join`
    runs what needs both linked halves, after the passes and before the file is written.

Passes call the parts that concern a single section while they make that section; `join.run` does
the rest. Renaming, and which sections have a Mercury copy, are in `write.mercury`. What only
depends on a table of the spec (relocation types, section kinds, attributes) is not here.

**What is not imitated.** Where the finalizer changes code in another way, or code has a form that
was never observed, the SASS of the input stays: some kernels with more barriers than
numbers (the map says which), and with `-g` some kernels that end early. docs/linking.md lists these
differences and the cases that show them.
"""
