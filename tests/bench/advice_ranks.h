/**
 * Steps whose callers are a process each, as the ranks of a job are: each opens the driver itself,
 * makes contexts and memory of its own, and waits for no other one's calls. Where there are
 * processors enough they stay awake between two times of a step. Errors end the program with a
 * line.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, which all processes share. The caller's thread only.
 */
#pragma once
#include <stddef.h>

struct ranks;

/* What a process carries out again and again: the flows of one caller, as advice_run reads them. */
struct rank_calls {
    /* the driver; once, before the first flows. number: the process's */
    void (*open)(void *arg, size_t number);
    void (*read)(void *arg, char *flows); /* what it is to do from now on, and memory for it */
    void (*prepare)(void *arg);           /* where the bytes of this time lie */
    void (*carry_out)(void *arg);         /* from the begin to having seen the end */
    void *arg;                            /* each process has its own copy of what it points to */
};

/* Forks that many processes, which wait in a read for what to do. The driver must not have been
 * touched yet: no child of a process that has can use it. They end with this one, however that
 * ends. */
struct ranks *ranks_new(size_t count, const struct rank_calls *calls);
void ranks_free(struct ranks *ranks);

/* Each of the first count ranks reads its flows, which are text without a newline. */
void ranks_read(struct ranks *ranks, char *const flows[], size_t count);

/* Those are carried out once: from the common begin to the last rank's having seen its flows end.
 */
double ranks_carry_out(struct ranks *ranks, size_t count);
