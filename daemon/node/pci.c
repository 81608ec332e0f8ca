#include "node/pci.h"

#include <stdio.h>
#include <string.h>

uint64_t pci_parse(const char *text)
{
    unsigned domain = 0, bus, device, function;
    int end = 0;
    /* scanf would accept signs and spaces */
    if (text[strspn(text, "0123456789abcdefABCDEF:.")] != '\0')
        return PCI_NONE;
    if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) != 4 ||
        text[end] != '\0') {
        domain = 0;
        end = 0;
        if (sscanf(text, "%2x:%2x.%1x%n", &bus, &device, &function, &end) != 3 || text[end] != '\0')
            return PCI_NONE;
    }
    if (device > 31 || function > 7)
        return PCI_NONE;
    return (uint64_t)domain << 16 | bus << 8 | device << 3 | function;
}

void pci_format(uint64_t pci, char buffer[24])
{
    snprintf(buffer, 24, "%04x:%02x:%02x.%x", (unsigned)(pci >> 16), (unsigned)(pci >> 8 & 0xff),
             (unsigned)(pci >> 3 & 0x1f), (unsigned)(pci & 7));
}

const char *pci_port_key(size_t level, const char *suffix, char buffer[PCI_PORT_KEY])
{
    static const char *const levels[PCI_PORT_LEVELS] = {"", "2", "3"};
    snprintf(buffer, PCI_PORT_KEY, "pcie_port%s%s", levels[level], suffix);
    return buffer;
}
