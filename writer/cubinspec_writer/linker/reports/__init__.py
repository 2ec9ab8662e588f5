"""Reports on a finished link, made on request from what the passes left.

`linkmap` tells where everything went and why, `reasons` answers for single symbols (`--why`),
`usage` prints resources and the call graph in nvlink's words with the C++ names of `cxxnames`, and
`drawing` makes the call graph for Graphviz. Nothing here changes the state of a link.
"""
