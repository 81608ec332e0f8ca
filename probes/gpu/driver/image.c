#include "gpu/driver/image.h"

#include <stdint.h>

/* The assembler makes the rows of a table, address and size, as in the daemon's embedded files.
 * HIP's loader needs its images at whole pages. */
#define ROW(file)                                                                                  \
    ".pushsection .rodata\n"                                                                       \
    ".balign 4096\n"                                                                               \
    "1: .incbin \"" file "\"\n"                                                                    \
    "2: .byte 0\n"                                                                                 \
    ".popsection\n"                                                                                \
    ".dc.a 1b, 2b - 1b\n"

__asm__(".pushsection .data.rel.ro, \"aw\"\n"
        ".balign 8\n"
        ".globl gpu_image_table\n"
        ".hidden gpu_image_table\n"
        ".type gpu_image_table, %object\n"
        "gpu_image_table:\n" ROW("cuda.image") ROW("hip.image") ROW("gpu_kernels.cu")
            ROW("gpu_kernels.h") ROW("included.txt") ".size gpu_image_table, . - gpu_image_table\n"
                                                     ".popsection\n");

enum row { CUDA, HIP, SOURCE, HEADER, INCLUDED, ROWS };
extern const struct {
    const char *bytes;
    uintptr_t size;
} gpu_image_table[ROWS];

const char *gpu_image_included(void) { return gpu_image_table[INCLUDED].bytes; }

const void *gpu_image_built(const struct gpu_api *api, size_t *ret_size)
{
    enum row row = api->takes_cuda ? CUDA : HIP;
    if (ret_size != NULL)
        *ret_size = gpu_image_table[row].size;
    return gpu_image_table[row].size > 0 ? gpu_image_table[row].bytes : NULL;
}

const char *gpu_image_source(void) { return gpu_image_table[SOURCE].bytes; }

const char *gpu_image_header(void) { return gpu_image_table[HEADER].bytes; }
