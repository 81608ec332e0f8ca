/**
 * A file replaced atomically: readers see the old one or the new one. A failed write leaves no
 * rest.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Writes the whole text, in as many calls as needed. False with errno on failure. */
bool cmd_file_write_all(int fd, const char *text, size_t length);

/* Returns CMD_DONE, or the exit status after printing the error. */
int cmd_file_replace(const char *path, const char *text, size_t length);
