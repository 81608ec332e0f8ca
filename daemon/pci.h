/**
 * PCI addresses as numbers that sort as addresses do: domain << 16 | bus << 8 | device << 3 | function.
 */
#pragma once
#include <stdint.h>

#define PCI_NONE UINT64_MAX

/* "c1:00.0", "0000:C1:00.0", "00000000:C1:00.0"; PCI_NONE when the text is no address. Any thread. */
uint64_t pci_parse(const char *text);

/* "0000:c1:00.0" */
void pci_format(uint64_t pci, char buffer[24]);
