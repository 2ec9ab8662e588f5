"""Named limits, each with its reason. Everything else is bounded by the size of the file itself.

What containers can multiply is counted, see ``cubinspec.allowance``.
"""

from __future__ import annotations

#: Longest printable name in messages; a 4 MB mangled name must not fill a terminal.
MAX_NAME_IN_MESSAGE = 200

#: Sections may share bytes: a Mercury section and its SASS twin do in a fifth of the public files,
#: which never reaches twice the file. Ten thousand headers over one body would cost ten thousand
#: times the file in time and memory.
MAX_SECTION_OVERLAP = 4

#: Strings may share bytes too (``.text.k`` inside ``.rel.text.k``). No real table is named more
#: than once over, but a long string with a thousand beginnings would grow a thousandfold.
MAX_STRING_OVERLAP = 16

#: Shorter strings are not watched: each takes less than a small multiple of the record naming it.
LONG_STRING = 1024

#: Contents of all sections together, in multiples of the file, that the authoritative reader goes
#: through. Mercury twins share bytes once and each symbol or call table reads a string table, so
#: real files stay below 6; forged headers could make every section span the whole file.
MAX_SHARED_FACTOR = 16

#: Longest readable form of a mangled name; beyond that the mangled one is shown. The longest
#: template names of public libraries stay below 20,000 characters.
MAX_READABLE_NAME = 1 << 16

#: Readable names per mangled character. Real ones stay below 10; names made to explode reach any.
MAX_READABLE_RATIO = 64

#: How often the bytes of a DWARF section may be read. Each entry reads its own bytes, a few of them
#: twice, and tables are kept; forged references make every unit read a whole section.
MAX_DWARF_READS = 64

#: Bytes of one number of DWARF in a row. Real ones have ten at most, but names in another script
#: look like a number; the longest path has 4096 bytes. The time for a number grows with the square.
MAX_LEB128_RUN = 4097

# --- containers -------------------------------------------------------------------------------

#: Containers inside containers (wheel -> tar.gz -> ar -> object -> fatbin is five). Deeper nesting
#: has no honest use and is how an archive that contains itself keeps a scanner busy for ever.
MAX_CONTAINER_DEPTH = 8

#: One device image after decompression. The largest cubins in public libraries stay below 300 MB.
MAX_IMAGE_BYTES = 1 << 30

#: LZ4 cannot expand more: a length byte of 255 yields 255 bytes, the rest is the token's start.
MAX_LZ4_RATIO = 256

#: The most that deflate can reach, by the same reasoning.
MAX_DEFLATE_RATIO = 1033

#: zstd writes 128 KiB of one byte in a few bytes, so real images with zeroed globals reach high
#: ratios; above this one, on an image of more than ``BOMB_FLOOR_BYTES``, the sizes are a lie.
MAX_ZSTD_RATIO = 2000

#: An archive member (or compressed file) that yields more than this many bytes per stored byte is
#: refused. Deflate cannot exceed 1032; host libraries with device code stay below 40.
MAX_MEMBER_RATIO = 250

#: Below this much output a ratio says nothing: a page of zeros compresses a thousandfold.
BOMB_FLOOR_BYTES = 64 << 20

#: One archive member, or one compressed file, read as a stream. The largest public libraries with
#: device code are near 3 GB; the bound keeps an endless stream from running for days.
MAX_MEMBER_BYTES = 16 << 30

#: An archive member up to this size is held in memory, which makes it cheap to read in any order;
#: a larger one is read as a stream, twice where its section table stands at its end.
MEMBER_IN_MEMORY_BYTES = 32 << 20

#: Members held in memory at the same time: an archive inside an archive needs two.
MEMBERS_IN_MEMORY_BYTES = 64 << 20

#: Fatbin wrappers of one host file. There is one per translation unit, some thousands in the
#: largest libraries; what is beyond is found all the same, by the magic numbers of its containers.
MAX_WRAPPERS = 1 << 16

#: Files kept open while the images of a folder are in use; systems allow a process 256 or more.
MAX_OPEN_FILES = 64

#: What is kept of a stream for steps back: more than nearly every cubin that lies bare in a library
#: (its length stands at its end, its data before that).
STREAM_WINDOW_BYTES = 8 << 20

#: Longest name of a member that is kept whole: what Linux takes for a path.
MAX_MEMBER_NAME = 4096

#: Longest name of a section of a host file. Those that matter have less than 20 characters, and
#: thousands of sections can share one name.
MAX_HOST_NAME = 256

#: Bytes that one header about the next tar member may have. Attributes of files, the longest thing
#: in honest ones, end at 64 KiB each.
MAX_TAR_HEADER_BYTES = 1 << 20

#: Bytes that come through a pipe, or from another thing without a size.
MAX_PIPE_BYTES = 1 << 30

#: Files up to this size are read whole when they are opened; of larger ones only what is asked for.
READ_WHOLE_BYTES = 1 << 20

#: Unit of reading when a file is searched for magic numbers, and of the window over a stream.
SEARCH_CHUNK_BYTES = 1 << 20

#: What the user allows, by the names of ``cubinspec.allowance.LIMITS``.
GIVEN: dict[str, int] = {}
