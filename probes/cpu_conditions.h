/* What a measurement depends on besides the places: kernel, CPU, clocks, page sizes. Never who or where: no host name. */
#pragma once
#include "probe_emit.h"

/* Adds the machine's conditions to an open object of a line. What cannot be read is left out. */
void cpu_conditions_print(const char *root, struct probe_line *line);
