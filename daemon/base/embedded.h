/**
 * The files of schema/ inside the program: the interface descriptions and the store's migrations.
 * Adding a file is one line in the table of base/embedded.c. Constant; any thread.
 */
#pragma once
#include <stddef.h>

struct embedded_file {
    const char *name; /* "io.berth.Fabric.varlink"; NULL ends an array */
    const char *text; /* NUL-terminated */
    size_t length;    /* without the NUL */
};

extern const struct embedded_file embedded_interfaces[];

/* Migrations in the order in which they are applied: number i brings a database to version i +
 * 1. */
extern const struct embedded_file embedded_migrations[];
