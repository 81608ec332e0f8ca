/**
 * What exports need of a node's hwloc XML beyond the graph: the order of its cores, what CPUID says
 * of them, and its tree of PCI devices.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hwloc_view_pci {
    /* see node/pci.h; parent: of the PCIe switch above, PCI_NONE when there is none below the
     * root port */
    uint64_t pci, parent;
    unsigned class_id, vendor, device, subvendor, subdevice; /* 0x0302, 0x10de; 0 unknown */
};

struct hwloc_view {
    unsigned *core; /* the lowest cpu of each core in the order in which hwloc counts them (L#) */
    size_t core_count;
    struct hwloc_view_pci *pci; /* devices and switches, in the order of the tree */
    size_t pci_count;
    char vendor[16];   /* of the first package, "AuthenticAMD"; "" unknown */
    int family, model; /* as the vendor counts them, 25 and 48; -1 unknown */
};

/* xml is the node's, name its file's, for errors. BAD_DATA where hwloc cannot read it, NO_MEMORY.
 * Any thread. */
enum berth_code backend_hwloc_view(const char *xml, const char *name, struct hwloc_view *ret_view,
                                   struct berth_err *err);
void hwloc_view_done(struct hwloc_view *view);

/* The device at an address, NULL when there is none. */
const struct hwloc_view_pci *hwloc_view_find(const struct hwloc_view *view, uint64_t pci);
