#include "fault.h"

#include <errno.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

static long countdown, live;
static bool has_failed, stays_failing;

void fault_arm(long at, bool for_ever)
{
    countdown = at;
    stays_failing = for_ever;
    has_failed = false;
}

bool fault_disarm(void)
{
    countdown = 0;
    return has_failed;
}

long fault_next(long at) { return at + (at < 300 || getenv("BERTH_LONG") != NULL ? 1 : 13); }

long fault_live(void) { return live; }

static bool fails(void)
{
    if (countdown == 0 || --countdown > 0)
        return false;
    countdown = stays_failing ? 1 : 0;
    has_failed = true;
    errno = ENOMEM;
    return true;
}

static void *counted(void *block)
{
    live += block != NULL;
    return block;
}

void *fault_spare(size_t size) { return counted(__libc_malloc(size)); }

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    return fails() ? NULL : counted(__libc_malloc(size));
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__libc_calloc(count, size));
}

__attribute__((visibility("default"))) void *realloc(void *block, size_t size)
{
    if (fails())
        return NULL;
    return block == NULL ? counted(__libc_realloc(block, size)) : __libc_realloc(block, size);
}

__attribute__((visibility("default"))) void free(void *block)
{
    live -= block != NULL;
    __libc_free(block);
}
