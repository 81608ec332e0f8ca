/**
 * PCI addresses as numbers with the order of the addresses: domain << 16 | bus << 8 | device << 3 |
 * function.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define PCI_NONE UINT64_MAX

/* Parses "c1:00.0", "0000:C1:00.0" or "00000000:C1:00.0"; PCI_NONE when the text is no address. Any
 * thread. */
uint64_t pci_parse(const char *text);

/* "0000:c1:00.0" */
void pci_format(uint64_t pci, char buffer[24]);

/* Largest number of consecutive ports that are distinguished, from the host on. */
#define PCI_PORT_LEVELS 3
#define PCI_PORT_KEY    32

/* Writes the key of a place's detail for its port of that level: "pcie_port", "pcie_port2", ...,
 * followed by the suffix, "" or "_bytes_per_s". Returns buffer. */
const char *pci_port_key(size_t level, const char *suffix, char buffer[PCI_PORT_KEY]);
