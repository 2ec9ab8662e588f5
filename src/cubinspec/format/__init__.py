"""What every reader and writer of cubins must agree on; imports the generated tables only.

* ``packing``: alignment, and numbers that share one field (``st_info``, ``sh_info``, ``e_flags``)
* ``sections``: what follows from the name, type and flags of a section; Mercury twins
* ``attributes``: the grammar of attribute streams (``.nv.info``, ``.nv.compat``)
* ``strings``: string tables, read and built
* ``layout``: order of the section headers, program headers
* ``notes``: the frame around a note's descriptor
* ``targets``: architectures and toolkits
* ``demangle``: readable C++ and Rust names
"""
