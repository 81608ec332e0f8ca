/* libFuzzer target: any bytes as an interface description; where it says an error is must lie in
 * the text. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "varlink/idl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct berth_err err = {0};
    struct idl *idl = NULL;
    if (idl_parse((const char *)data, size, &idl, &err) == BERTH_OK) {
        if (idl->name == NULL)
            abort();
        idl_free(idl);
        return 0;
    }
    unsigned line = 0, column = 0;
    if (idl != NULL || sscanf(err.detail, "line %u, column %u: ", &line, &column) != 2)
        abort();
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    if (line == 0 || line > lines || column == 0 || column > size + 1)
        abort();
    return 0;
}
