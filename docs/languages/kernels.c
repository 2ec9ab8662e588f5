/* Print the kernels of 64-bit cubins with their registers and parameters, with cubin.h alone. */
#include "cubin.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct cubin_section_header_64 section;
typedef struct cubin_info_record record;

static unsigned char *file;
static uint64_t size;

static const void *part(uint64_t offset, uint64_t length) {
  if (offset <= size && length <= size - offset) return file + offset;
  exit(fputs("the file is cut off\n", stderr));
}

/* The attribute at a place of a section, which is moved behind it; after the last one NULL. */
static const record *next(const section *info, uint64_t *at) {
  if (*at + sizeof(record) > info->sh_size) return NULL;
  const record *found = (const record *)part(info->sh_offset + *at, sizeof *found);
  *at += sizeof *found + (found->format == CUBIN_EIFMT_SVAL ? found->value : 0);
  return part(info->sh_offset, *at) ? found : NULL;
}

static void cubin(uint32_t *registers, char *is_kernel) {
  const struct cubin_elf_header_64 *head = (const struct cubin_elf_header_64 *)part(0, sizeof *head);
  const section *sections = (const section *)part(head->e_shoff, head->e_shnum * sizeof(section)), *s;
  const char *names = (const char *)part(sections[head->e_shstrndx].sh_offset, 0);
  const record *one;
  for (s = sections; s < sections + head->e_shnum; s++)
    for (uint64_t at = 0; s->sh_type == CUBIN_SHT_CUDA_INFO && (one = next(s, &at));) {
      const struct cubin_function_value *value = (const struct cubin_function_value *)(one + 1);
      if (one->code == CUBIN_EIATTR_REGCOUNT && value->symbol < size) registers[value->symbol] = value->number;
      /* each kernel has this attribute, no other function does */
      if (one->code == CUBIN_EIATTR_MAXREG_COUNT) is_kernel[s - sections] = 1;
    }
  for (s = sections; s < sections + head->e_shnum; s++) {
    if (!is_kernel[s - sections] || s->sh_info >= head->e_shnum) continue;
    uint32_t symbol = sections[s->sh_info].sh_info & CUBIN_SHI_SYMBOL_MASK;
    printf("%s %u\n", names + s->sh_name + sizeof ".nv.info", symbol < size ? registers[symbol] : 0);
    for (uint64_t at = 0; (one = next(s, &at));) {
      const struct cubin_kparam_info *p = (const struct cubin_kparam_info *)(one + 1);
      if (one->code == CUBIN_EIATTR_KPARAM_INFO)
        printf("  %u %u %u\n", p->ordinal, p->offset, p->bits >> CUBIN_KPARAM_INFO_SIZE_SHIFT);
      if (one->code == CUBIN_EIATTR_KPARAM_INFO_V2)
        printf("  %u %u %u\n", p->ordinal, p->offset, p->bits & CUBIN_KPARAM_INFO_V2_SIZE_MASK);
    }
  }
}

int main(int count, char **paths) {
  for (int i = 1; i < count; i++) {
    FILE *stream = fopen(paths[i], "rb");
    if (!stream || fseek(stream, 0, SEEK_END)) return perror(paths[i]), 1;
    size = (uint64_t)ftell(stream);
    file = (unsigned char *)calloc(size + 16, 1); /* a payload that is too short reads zeros */
    rewind(stream);
    if (fread(file, 1, size, stream) != size) return perror(paths[i]), 1;
    printf("%s:\n", paths[i]);
    uint32_t *registers = (uint32_t *)calloc(size, sizeof *registers); /* of a symbol */
    char *is_kernel = (char *)calloc(0x10000, 1);                     /* of a section */
    cubin(registers, is_kernel);
    free(registers), free(is_kernel), free(file), fclose(stream);
  }
  return 0;
}
