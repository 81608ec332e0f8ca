#include "base/embedded.h"

/* C17 cannot include bytes, and an array cannot be initialised with a length that only the
 * assembler knows: so the assembler makes the arrays. A row is a struct embedded_file; .dc.a is a
 * word of the size of an address. The compiler passes its -I on, so files are found below
 * schema/. */
#define ROW(file)                                                                                  \
    ".pushsection .rodata\n"                                                                       \
    "1: .asciz \"" file "\"\n"                                                                     \
    "2: .incbin \"" file "\"\n"                                                                    \
    "3: .byte 0\n"                                                                                 \
    ".popsection\n"                                                                                \
    ".dc.a 1b, 2b, 3b - 2b\n"

#define ARRAY(name, rows)                                                                          \
    __asm__(".pushsection .data.rel.ro, \"aw\"\n"                                                  \
            ".balign 8\n"                                                                          \
            ".globl " name "\n"                                                                    \
            ".hidden " name "\n"                                                                   \
            ".type " name ", %object\n" name ":\n" rows ".dc.a 0, 0, 0\n"                          \
            ".size " name ", . - " name "\n"                                                       \
            ".popsection\n")

ARRAY("embedded_interfaces", ROW("org.varlink.service.varlink") ROW("io.berth.Fabric.varlink")
                                 ROW("io.berth.Health.varlink") ROW("io.berth.Placement.varlink"));

ARRAY("embedded_migrations", ROW("0001_init.sql") ROW("0002_history.sql") ROW("0003_set.sql")
                                 ROW("0004_baseline.sql") ROW("0005_claim.sql"));
