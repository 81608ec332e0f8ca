/**
 * Data of a node's hwloc XML that exports need beyond the graph. These are the order of its cores,
 * its CPUID family and model, and its tree of PCI devices.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hwloc_view_pci {
    /* addresses as in node/pci.h; parent: the PCIe switch above, PCI_NONE when there is none below
     * the root port */
    uint64_t pci, parent;
    unsigned class_id, vendor, device, subvendor, subdevice; /* 0x0302, 0x10de; 0 unknown */
};

struct hwloc_view {
    unsigned *core; /* lowest cpu of each core, in hwloc's logical order (L#) */
    size_t core_count;
    struct hwloc_view_pci *pci; /* devices and switches, in the order of the tree */
    size_t pci_count;
    char vendor[16];   /* of the first package, "AuthenticAMD"; "" unknown */
    int family, model; /* in the vendor's numbering, 25 and 48; -1 unknown */
};

/* Reads the XML of a node; name is its file's, for errors. Fails with BAD_DATA where hwloc cannot
 * read it, and with NO_MEMORY. Any thread. */
enum berth_code backend_hwloc_view(const char *xml, const char *name, struct hwloc_view *ret_view,
                                   struct berth_err *err);
void hwloc_view_done(struct hwloc_view *view);

/* Returns the device at an address, NULL when there is none. */
const struct hwloc_view_pci *hwloc_view_find(const struct hwloc_view *view, uint64_t pci);
