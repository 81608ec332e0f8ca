#include "sim/queue.h"

#include <math.h>

/* Behind those of its who with fewer bytes. */
static void insert(struct load_stream *streams, struct load_stream *stream, uint32_t *head)
{
    struct load_stream *before = NULL, *next = &streams[*head];
    for (; next != NULL && next->bytes < stream->bytes; next = next->behind)
        before = next;
    stream->behind = next;
    stream->is_behind = before != NULL;
    if (next != NULL)
        next->is_behind = true;
    if (before != NULL)
        before->behind = stream;
    else
        *head = (uint32_t)(stream - streams);
}

/* What moves until each ends, and how fast: those that are left take as long each in turn. */
static void part(struct load_stream *first)
{
    double left = 0, ns_per_byte = 0, moved = 0, before = 0;
    for (const struct load_stream *stream = first; stream != NULL; stream = stream->behind) {
        left++;
        ns_per_byte += 1e9 / stream->bytes_per_s;
    }
    for (struct load_stream *stream = first; stream != NULL; stream = stream->behind) {
        stream->part_bytes = (stream->bytes - before) * left;
        stream->part_bytes_per_s =
            stream->behind != NULL ? left / ns_per_byte * 1e9 : stream->bytes_per_s;
        stream->queue_bytes = moved += stream->part_bytes;
        before = stream->bytes;
        left--;
        ns_per_byte -= 1e9 / stream->bytes_per_s;
    }
}

void load_queue_make(struct load_stream *streams, size_t count, uint32_t *head)
{
    bool has_several = false;
    for (size_t i = 0; i < count; i++) {
        struct load_stream *stream = &streams[i];
        stream->behind = NULL;
        stream->is_behind = false;
        stream->part_bytes = stream->queue_bytes = stream->bytes;
        stream->part_bytes_per_s = stream->bytes_per_s;
        if (stream->who == 0 || !(stream->bytes > 0))
            continue;
        uint32_t *first = &head[stream->who];
        /* else left there by earlier streams: whoever was here before has put its own there */
        if (*first < i && streams[*first].who == stream->who && streams[*first].bytes > 0) {
            insert(streams, stream, first);
            has_several = true;
        } else {
            *first = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < count && has_several; i++)
        if (!streams[i].is_behind && streams[i].behind != NULL)
            part(&streams[i]);
}

double load_queue_begin_ns(const struct load_stream *first)
{
    double begin_ns = first->begin_ns;
    for (const struct load_stream *stream = first->behind; stream != NULL; stream = stream->behind)
        begin_ns = fmin(begin_ns, stream->begin_ns);
    return begin_ns;
}

double load_queue_bytes_per_s(const struct load_stream *first)
{
    double fastest = first->part_bytes_per_s;
    for (const struct load_stream *stream = first->behind; stream != NULL; stream = stream->behind)
        fastest = fmax(fastest, stream->part_bytes_per_s);
    return fastest;
}

void load_queue_run(struct load_stream *first)
{
    double now_s = load_queue_begin_ns(first) / 1e9;
    for (struct load_stream *stream = first; stream != NULL; stream = stream->behind) {
        now_s += stream->part_bytes / stream->part_bytes_per_s;
        load_queue_end(stream, now_s);
    }
}
