/*
 * A program that follows berth's advice: it asks where a buffer that the calling thread will stream
 * over should be, allocates it there, and has the kernel tell where its pages are. Built with
 *
 *     cc -o alloc alloc.c $(pkg-config --cflags --libs libberth) -lnuma
 *
 * usage: alloc MIB: prints "advised numa1 (numa_alloc_onnode(size, 1)), 4096 of 4096 pages there";
 * exit status 0 when all of them are.
 */
#include <berth.h>
#include <numa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The operating system's number of the best memory that is a NUMA node, as all of a machine without
 * GPUs is. */
static int best_node(const struct berth_allocation *answer)
{
    int node;
    for (size_t i = 0; i < answer->option_count; i++)
        if (answer->options[i].kind == BERTH_KIND_SYSTEM &&
            sscanf(answer->options[i].memory, "numa%d", &node) == 1) {
            printf("advised %s (%s), ", answer->options[i].memory, answer->options[i].call);
            return node;
        }
    return -1;
}

/* How many of the buffer's pages are on the node; -1 when the kernel does not say. */
static long pages_on(char *buffer, size_t bytes, int node, long *ret_pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = bytes / page;
    void **address = malloc(count * sizeof *address);
    int *where = malloc(count * sizeof *where);
    long found = -1;
    if (address != NULL && where != NULL) {
        for (size_t i = 0; i < count; i++)
            address[i] = buffer + i * page;
        if (numa_move_pages(0, count, address, NULL, where, 0) == 0) {
            found = 0;
            for (size_t i = 0; i < count; i++)
                found += where[i] == node;
        }
    }
    free(address);
    free(where);
    *ret_pages = (long)count;
    return found;
}

int main(int argc, char **argv)
{
    long mib = argc > 1 ? strtol(argv[1], NULL, 10) : 16, pages = 0, there = -1;
    if (mib <= 0 || mib > 1 << 20 || numa_available() < 0) {
        fprintf(stderr, "usage: alloc MIB, on a machine that has NUMA\n");
        return 64;
    }
    struct berth_allocate_request request;
    struct berth_allocation *answer = NULL;
    struct berth *berth = berth_new();
    if (berth == NULL)
        return 71;
    berth_allocate_request_init(&request);
    request.bytes = mib << 20;
    if (berth_connect(berth, NULL) < 0 || berth_allocate(berth, &request, &answer) < 0) {
        fprintf(stderr, "alloc: %s\n", berth_error_detail(berth));
    } else {
        int node = best_node(answer);
        char *buffer = node >= 0 ? numa_alloc_onnode((size_t)request.bytes, node) : NULL;
        if (buffer != NULL) {
            /* a page is placed when it is first written to */
            memset(buffer, 1, (size_t)request.bytes);
            there = pages_on(buffer, (size_t)request.bytes, node, &pages);
            printf("%ld of %ld pages there\n", there, pages);
            numa_free(buffer, (size_t)request.bytes);
        }
    }
    berth_allocation_free(answer);
    berth_free(berth);
    return there >= 0 && there == pages ? 0 : 1;
}
