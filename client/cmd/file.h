/** A file written at once: readers see the old one or the new one, and nothing is left of one that
 * could not be written. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* All of it, however often that takes. False with errno when not. */
bool cmd_file_write_all(int fd, const char *text, size_t length);

/* CMD_DONE, or the exit status when it has been said why not. */
int cmd_file_replace(const char *path, const char *text, size_t length);
