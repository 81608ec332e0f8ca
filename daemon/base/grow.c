#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

bool grow_by_one(void *array, size_t count, size_t item_size)
{
    if ((count & (count - 1)) != 0)
        return true;
    void *items;
    memcpy(&items, array, sizeof items); /* array points to a pointer of any type */
    void *more = realloc(items, (count == 0 ? 1 : 2 * count) * item_size);
    if (more == NULL)
        return false;
    memcpy(array, &more, sizeof more);
    return true; /* cppcheck-suppress memleak ; the array has it now */
}
