"""cubinspec: every name, symbol, relocation and attribute of a file."""

import sys

from cubinspec import Cubin

with Cubin.open(sys.argv[1]) as cubin:
    tables = cubin.tables()
    print(
        len(tables.section_names),
        sum(map(len, tables.symbol_names.values())),
        sum(map(len, tables.relocation_rows.values())),
        sum(map(len, tables.info_rows.values())),
    )
