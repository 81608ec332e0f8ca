#include "lib/pages.h"

#include <errno.h>
#include <limits.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NODES_MAX 1024
#define NODE_BITS (CHAR_BIT * sizeof(unsigned long))

struct nodes {
    unsigned long word[NODES_MAX / NODE_BITS];
};

static struct nodes one_node(int node)
{
    struct nodes nodes = {0};
    nodes.word[(size_t)node / NODE_BITS] = 1ul << (size_t)node % NODE_BITS;
    return nodes;
}

/* The only node with memory; -1 when there are several, or nobody says. A kernel without NUMA has
 * one node. */
static int only_node(void)
{
    char text[64] = "", *end;
    FILE *file = fopen("/sys/devices/system/node/has_memory", "re");
    if (file == NULL)
        return access("/sys/devices/system/node", F_OK) == 0 ? -1 : 0;
    bool has_line = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    long node = strtol(text, &end, 10);
    return has_line && end != text && (*end == '\n' || *end == '\0') && node < NODES_MAX ? (int)node
                                                                                         : -1;
}

int lib_pages_number(const char *name)
{
    char *end;
    if (strncmp(name, "numa", 4) != 0 || name[4] < '0' || name[4] > '9')
        return -1;
    unsigned long node = strtoul(name + 4, &end, 10);
    return *end == '\0' && node < NODES_MAX ? (int)node : -1;
}

void *lib_pages_new(int node, size_t bytes)
{
    struct nodes nodes = one_node(node);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    /* containers may forbid the call, which on a single node changes nothing */
    if (mbind(memory, bytes, MPOL_BIND, nodes.word, NODES_MAX + 1, 0) != 0) {
        int number = errno;
        if (only_node() != node) {
            munmap(memory, bytes);
            errno = number;
            return NULL;
        }
    }
    return memory;
}

void lib_pages_free(void *memory, size_t bytes)
{
    if (memory != NULL)
        munmap(memory, bytes);
}

bool lib_pages_touch(int node, void *memory, size_t bytes)
{
    struct nodes nodes = one_node(node), before = {0};
    int mode = MPOL_DEFAULT;
    bool is_set = get_mempolicy(&mode, before.word, NODES_MAX, NULL, 0) == 0 &&
                  set_mempolicy(MPOL_PREFERRED, nodes.word, NODES_MAX + 1) == 0;
    int number = errno;
    if (!is_set && only_node() != node) {
        errno = number;
        return false;
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < bytes; at += page)
        ((volatile char *)memory)[at] = 0;
    if (is_set)
        set_mempolicy(mode, before.word, NODES_MAX + 1);
    return true;
}

int lib_pages_node(const void *memory)
{
    uintptr_t page = (uintptr_t)memory & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    void *pages[] = {(void *)page};
    int node = -1;
    if (move_pages(0, 1, pages, NULL, &node, 0) == 0 && node >= 0)
        return node;
    return only_node();
}
