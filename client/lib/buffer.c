/* A byte queue that grows at its end and is consumed from its start. */
#include "lib/lib.h"

#include <stdlib.h>
#include <string.h>

bool lib_buffer_reserve(struct lib_buffer *buffer, size_t extra)
{
    if (buffer->start > 0) {
        if (buffer->end > buffer->start)
            memmove(buffer->data, buffer->data + buffer->start, buffer->end - buffer->start);
        buffer->end -= buffer->start;
        buffer->start = 0;
    }
    if (extra <= buffer->size - buffer->end)
        return true;
    if (extra > SIZE_MAX / 4 - buffer->end)
        return false;
    size_t size = buffer->size < 4096 ? 4096 : buffer->size;
    while (size - buffer->end < extra)
        size *= 2;
    char *data = realloc(buffer->data, size);
    if (data == NULL)
        return false;
    buffer->data = data;
    buffer->size = size;
    return true;
}

void lib_buffer_done(struct lib_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct lib_buffer){0};
}
