"""The linked program to bytes.

There are two writers, one that is fast and one that is general. `direct` writes programs of one
half, below sm_100: each field of all rows in one loop, with nothing in between. `described` makes a
description for the emitter, which can write whatever any producer wrote. It serves programs with a
Mercury half, whose sections `mercury` adds. Both read the same rows of `cubinspec.format` (index
ranks, `sh_link`, `sh_info`, segments, string tables), and `contents` holds the bodies that both
need. The tests write every linked case below sm_100 with both and compare the bytes.
"""
