/* The files that tell a program about the node's memory, as they would be on the virtual node. For
 * host.c. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* False: this file is the machine's. ret_text is "" for one that the virtual node does not have. */
bool host_file(const char *path, char *ret_text, size_t size);
