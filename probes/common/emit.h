/**
 * Prints the measurement record: one JSON object a line, each line in one write, so that a reader
 * sees whole lines only.
 *
 * struct probe_out is the output, shared by threads; struct probe_line is one line being built, on
 * the stack of one thread.
 */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct probe_out {
    int fd;
    pthread_mutex_t gate; /* held while a line is written; the writer of the last line keeps it */
};

struct probe_line {
    size_t used;
    bool comma, overflow;
    char text[32768]; /* half of a record reader's limit */
};

void probe_line_begin(struct probe_line *line, const char *record);
/* invalid UTF-8 becomes U+FFFD */
void probe_line_text(struct probe_line *line, const char *key, const char *value);
/* six digits; null when not finite */
void probe_line_number(struct probe_line *line, const char *key, double value);
void probe_line_integer(struct probe_line *line, const char *key, int64_t value);
/* an object as value; key NULL: in a list */
void probe_line_open(struct probe_line *line, const char *key);
void probe_line_close(struct probe_line *line);
void probe_line_open_list(struct probe_line *line, const char *key);
void probe_line_close_list(struct probe_line *line);

/* Ends the line and writes it. False when it was too long (nothing is written) or the reader is
 * gone. */
bool probe_line_write(struct probe_line *line, struct probe_out *out);

/* Ends the line, writes it as the last one, and keeps the gate, so that no other thread writes
 * after it. Waits at most wait_ns for a thread that is writing, and not at all for a full pipe. */
bool probe_line_write_last(struct probe_line *line, struct probe_out *out, int64_t wait_ns);
