/**
 * Finds errors of GPUs, NVSwitches and PCIe in lines of the kernel's log. Lines may hold any bytes:
 * names of programs stand in them.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum kernel_line_kind {
#define EVENT(id, name, finding, severity, drains, per_hour, about) KERNEL_LINE_##id,
#include "kernel_events.def"
#undef EVENT
    KERNEL_LINE_KINDS
};

struct kernel_line {
    enum kernel_line_kind kind;
    int number;       /* of an Xid or SXid; 0 others */
    char at[16];      /* PCI address "0000:c1:00.0"; "" not named */
    int64_t sequence; /* of the message; -1 not given */
    int64_t since_us; /* time since the boot */
    char text[160];   /* message, cut */
};

/* "xid", "aer-fatal" */
const char *kernel_lines_kind(enum kernel_line_kind kind);

/* Parses a line of /dev/kmsg ("4,1234,5678901,-;text") or of dmesg ("[    5.678901] text"). False
 * when it is no error of these kinds, or a program wrote it into the log. */
bool kernel_lines_parse(const char *line, struct kernel_line *ret);
