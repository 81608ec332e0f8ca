/* Libraries that are looked up at run time, and the common parts of their answers. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "common/why.h"

/* A function to be found: its pointer is a member of a structure of the caller's. */
struct gpu_dl_call {
    const char *name;
    size_t offset;
    bool needed; /* the library is useless without it */
};

struct gpu_dl_found {
    const char *library; /* the name that was found */
    void *handle;        /* stays open until the process ends: drivers have threads of their own */
};

/* Opens the first library of the NULL-terminated names that is there and has all needed calls. Sets
 * the members of ret_calls; a call that the library lacks is NULL there. False: one sentence in why
 * about the last library found, or that none is there. */
bool gpu_dl_open(const char *const *names, const struct gpu_dl_call *calls, size_t count,
                 void *ret_calls, struct gpu_dl_found *ret_found, struct probe_why *why);

/* True when the library has a symbol of that name. */
bool gpu_dl_has(const struct gpu_dl_found *found, const char *symbol);

/* Converts a PCI address of any runtime ("00000000:C1:00.0") to the kernel's form, "0000:c1:00.0".
 * False when it is none or does not fit. */
bool gpu_dl_pci(const char *text, char *ret_address, size_t size);

/* Prints the 16 bytes of a device's UUID in the form of nvidia-smi and rocm-smi. That is "GPU-" and
 * hexadecimal groups, or the 16 digits that AMD puts into the bytes. False when it does not fit. */
bool gpu_dl_uuid(const unsigned char bytes[16], char *ret_text, size_t size);
