/* Print the sections, attributes, symbols and relocations of cubins and fatbins, with cubin.h alone. */
#include "cubin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct file {
  const unsigned char *data;
  uint64_t size;
};

/* A section header of either ELF class. */
struct section {
  uint32_t name, type, link;
  uint64_t offset, size;
};

/* Copy a record of fixed size; zeros when it does not lie in the file. */
static void take(struct file file, uint64_t offset, void *record, size_t size) {
  memset(record, 0, size);
  if (offset <= file.size && size <= file.size - offset) memcpy(record, file.data + offset, size);
}
#define TAKE(file, offset, record) take(file, offset, &(record), sizeof(record))

static struct file part(struct file file, uint64_t offset, uint64_t size) {
  if (offset > file.size) offset = file.size;
  if (size > file.size - offset) size = file.size - offset;
  struct file found = {file.data + offset, size};
  return found;
}

static void print_name(struct file names, uint64_t offset) {
  for (; offset < names.size && names.data[offset]; offset++) putchar(names.data[offset]);
}

static int is_in_file(struct section section, uint64_t flags) {
  switch (section.type) {
    case CUBIN_SHT_NULL: case CUBIN_SHT_NOBITS: case CUBIN_SHT_CUDA_GLOBAL:
    case CUBIN_SHT_CUDA_LOCAL: case CUBIN_SHT_CUDA_SHARED: return 0;
    case CUBIN_SHT_CUDA_RESERVED_SHARED: return (flags & CUBIN_SHF_CUDA_MERCURY) != 0;
    default: return 1;
  }
}

static void attributes(unsigned index, struct file body) {
  struct cubin_info_record record;
  for (uint64_t at = 0; at + sizeof record <= body.size;) {
    TAKE(body, at, record);
    at += sizeof record;
    printf("A %u %u %u %u\n", index, record.format, record.code, record.value);
    if (record.format != CUBIN_EIFMT_SVAL) continue;
    if (record.code == CUBIN_EIATTR_REGCOUNT) { /* registers of a kernel */
      struct cubin_function_value value;
      TAKE(body, at, value);
      printf("K %u %u\n", value.symbol, value.number);
    }
    at += record.value;
  }
}

static void symbols(unsigned index, struct file body, struct file names, int is_64) {
  size_t size = is_64 ? sizeof(struct cubin_symbol_64) : sizeof(struct cubin_symbol_32);
  for (uint64_t at = 0; at + size <= body.size; at += size) {
    struct cubin_symbol_64 s;
    TAKE(body, at, s);
    if (!is_64) {
      struct cubin_symbol_32 n;
      TAKE(body, at, n);
      s.st_name = n.st_name; s.st_value = n.st_value; s.st_size = n.st_size;
      s.st_info = n.st_info; s.st_shndx = n.st_shndx;
    }
    printf("Y %u ", index);
    print_name(names, s.st_name);
    printf(" %" PRIu64 " %" PRIu64 " %u %u %u\n", s.st_value, s.st_size, s.st_shndx,
           s.st_info & CUBIN_ST_TYPE_MASK, s.st_info >> CUBIN_ST_BIND_SHIFT);
  }
}

static void relocations(unsigned index, struct file body, int has_addend, int is_64) {
  size_t size = is_64 ? has_addend ? sizeof(struct cubin_rela_64) : sizeof(struct cubin_rel_64)
                      : has_addend ? sizeof(struct cubin_rela_32) : sizeof(struct cubin_rel_32);
  for (uint64_t at = 0; at + size <= body.size; at += size) {
    struct cubin_rela_64 r = {0, 0, 0, 0};
    take(body, at, &r, is_64 ? size : 0); /* a row without addend is the start of one with it */
    if (!is_64) {
      struct cubin_rela_32 n = {0, 0, 0};
      take(body, at, &n, size);
      r.r_offset = n.r_offset; r.r_addend = n.r_addend;
      r.r_type = n.r_info & 0xff; r.r_sym = n.r_info >> 8;
    }
    printf("R %u %" PRIu64 " %u %u %" PRId64 "\n", index, r.r_offset, r.r_type, r.r_sym, r.r_addend);
  }
}

static struct section header(struct file file, uint64_t offset, int is_64, uint64_t *flags) {
  struct cubin_section_header_64 h;
  TAKE(file, offset, h);
  if (!is_64) {
    struct cubin_section_header_32 n;
    TAKE(file, offset, n);
    h.sh_name = n.sh_name; h.sh_type = n.sh_type;
    h.sh_offset = n.sh_offset; h.sh_size = n.sh_size; h.sh_link = n.sh_link; h.sh_flags = n.sh_flags;
  }
  struct section found = {h.sh_name, h.sh_type, h.sh_link, h.sh_offset, h.sh_size};
  *flags = h.sh_flags;
  return found;
}

static void cubin(struct file file) {
  struct cubin_elf_header_64 e;
  TAKE(file, 0, e);
  int is_64 = e.ei_class == CUBIN_ELFCLASS64;
  if (!is_64) {
    struct cubin_elf_header_32 n;
    TAKE(file, 0, n);
    e.e_shoff = n.e_shoff; e.e_shnum = n.e_shnum; e.e_shstrndx = n.e_shstrndx;
  }
  uint64_t row = is_64 ? CUBIN_SIZEOF_SECTION_HEADER_64 : CUBIN_SIZEOF_SECTION_HEADER_32, flags;
  struct section first = header(file, e.e_shoff, is_64, &flags);
  uint64_t count = e.e_shnum || !e.e_shoff ? e.e_shnum : first.size;
  uint64_t names = e.e_shstrndx == CUBIN_SHN_XINDEX ? first.link : e.e_shstrndx;
  struct section pool = header(file, e.e_shoff + names * row, is_64, &flags);
  for (unsigned index = 0; index < count; index++) {
    struct section s = header(file, e.e_shoff + index * row, is_64, &flags);
    printf("S %u ", index);
    print_name(part(file, pool.offset, pool.size), s.name);
    printf(" %u %" PRIu64 " %" PRIu64 "\n", s.type, s.offset, s.size);
    if (!is_in_file(s, flags)) continue;
    struct file body = part(file, s.offset, s.size);
    switch (s.type) {
      case CUBIN_SHT_CUDA_INFO: case CUBIN_SHT_CUDA_MERC_INFO: attributes(index, body); break;
      case CUBIN_SHT_SYMTAB: case CUBIN_SHT_CUDA_MERC_SYMTAB: {
        struct section strings = header(file, e.e_shoff + s.link * row, is_64, &flags);
        symbols(index, body, part(file, strings.offset, strings.size), is_64);
        break;
      }
      case CUBIN_SHT_REL: relocations(index, body, 0, is_64); break;
      case CUBIN_SHT_RELA: case CUBIN_SHT_CUDA_MERC_RELA: relocations(index, body, 1, is_64); break;
      default: break;
    }
  }
}

static void entries(struct file list) {
  const uint64_t compressed = CUBIN_FATBIN_FLAG_COMPRESSED_ZLIB | CUBIN_FATBIN_FLAG_COMPRESSED_LZ4
    | CUBIN_FATBIN_FLAG_COMPRESSED_LZ4_FRAME | CUBIN_FATBIN_FLAG_COMPRESSED_ZSTD;
  struct cubin_entry_head head;
  for (uint64_t at = 0; at + sizeof head <= list.size; at += head.len_header + head.len_payload) {
    TAKE(list, at, head);
    printf("E %u %u %" PRIu64 "\n", head.kind, head.sm, head.len_payload);
    if (head.kind == CUBIN_FATBIN_KIND_ELF && !(head.flags & compressed))
      cubin(part(list, at + head.len_header, head.len_payload));
  }
}

static void fatbin(struct file file) {
  struct cubin_container_head head;
  for (uint64_t at = 0; at + CUBIN_SIZEOF_FAT_BLOCK <= file.size;) {
    struct cubin_fat_block block;
    TAKE(file, at, block);
    TAKE(file, at + sizeof block, head);
    if (block.magic == CUBIN_FATBIN_MAGIC) {
      entries(part(file, at + head.len_header, head.len_entries));
      at += head.len_header + head.len_entries;
    } else if (block.magic == CUBIN_FATBIN_WRAPPER_MAGIC) {
      at += sizeof block + CUBIN_SIZEOF_WRAPPER;
    } else {
      at += block.magic ? file.size : sizeof block;
    }
  }
}

static unsigned char *contents(const char *path, uint64_t *size) {
  FILE *stream = fopen(path, "rb");
  if (!stream || fseek(stream, 0, SEEK_END)) return NULL;
  long length = ftell(stream);
  unsigned char *data = length < 0 ? NULL : (unsigned char *)malloc((size_t)length + 1);
  rewind(stream);
  *size = data ? fread(data, 1, (size_t)length, stream) : 0;
  fclose(stream);
  return data;
}

int main(int argc, char **argv) {
  for (int n = 1; n < argc; n++) {
    struct file file = {NULL, 0};
    unsigned char *data = contents(argv[n], &file.size);
    size_t length = strlen(argv[n]);
    if (!data) return perror(argv[n]), 1;
    file.data = data;
    printf("F %s\n", argv[n]);
    if (length > 7 && !strcmp(argv[n] + length - 7, ".fatbin")) fatbin(file);
    else cubin(file);
    free(data);
  }
  return 0;
}
