/* Results as tables for a person: one matrix for each metric and set of axes, with the 95 %
 * interval. */
#pragma once
#include <stdio.h>

#include "cpu/report.h"

/* False when out of memory. */
bool cpu_table_print(const struct cpu_report *report, FILE *file);
