/**
 * Names of the daemon for the driver's devices, which have the same PCI addresses.
 */
#pragma once
#include "lib/driver.h"

struct lib_driver_names {
    char gpu[LIB_DEVICES_MAX][24];  /* "gpu0"; "" for a device that the daemon does not know */
    char numa[LIB_DEVICES_MAX][24]; /* nearest NUMA node, "numa0"; "" unknown */
};

/* Asks the daemon for its node. Fails as a call does. */
int lib_driver_names_ask(struct berth *berth, const struct lib_driver *driver,
                         struct lib_driver_names *ret_names);

/* Device of a gpu's name, or else of a NUMA node's own gpu; -1 none. */
int lib_driver_names_find(const struct lib_driver_names *names, const char *place);
