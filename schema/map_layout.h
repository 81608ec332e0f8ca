/**
 * Layout of the two files that io.berth.Fabric.Map passes. Numbers have the machine's byte order;
 * offsets count from the start of the file and are multiples of 8.
 *
 * The map: a header, then arrays of places, nearest memories, pairs of memories and pieces. It is
 * sealed against every change. A program checks every number once, before it uses any.
 *
 * The page: two words that the daemon changes, and nobody else.
 */
#pragma once
#include <stdint.h>

#define MAP_MAGIC     "berthmap" /* 8 bytes, without NUL */
#define MAP_LAYOUT    1u
#define MAP_BYTES_MAX ((uint64_t)64 << 20)

struct map_header {
    char magic[8];
    uint32_t layout;
    uint32_t place_count;
    uint64_t bytes; /* of the file */
    uint64_t generation;
    char snapshot[48]; /* ends with a NUL */
    uint32_t memory_count;
    uint32_t piece_count;
    uint64_t places_at;  /* struct map_place[place_count] */
    uint64_t nearest_at; /* int32_t[place_count][MAP_KINDS]: a place; -1 none */
    /* uint32_t[memory_count * memory_count + 1]: the pieces of pair from * memory_count + to begin
     * at this number, and end at the next */
    uint64_t pairs_at;
    uint64_t pieces_at; /* struct map_piece[piece_count] */
};

struct map_place {
    char name[24];  /* ends with a NUL */
    int32_t memory; /* its number among the memories; -1 none */
    uint32_t unused;
};

enum map_kind { MAP_SYSTEM, MAP_PINNED, MAP_MANAGED, MAP_DEVICE, MAP_KINDS };

enum map_mechanism { MAP_COPY_ENGINE = 1, MAP_KERNEL };

/* A transfer of from_bytes up to the from_bytes of the next piece takes
 * from_ns + (bytes - from_bytes) * ns_per_byte. */
struct map_piece {
    int64_t from_bytes; /* ascending within a pair; 1 in the first piece */
    double from_ns, ns_per_byte; /* NAN: only a lower bound is known */
    uint8_t mechanism; /* enum map_mechanism */
    uint8_t source;    /* of the time: 1 measured, 2 similar_pair, ... in the order of Placement */
    uint8_t unused[6];
};

struct map_page {
    char magic[8]; /* MAP_MAGIC */
    uint64_t generation;
    /* The daemon holds this robust futex while it lives: the kernel changes it at the daemon's end,
     * however that comes. The thread's number, without the bits above. */
    uint32_t owner;
};
#define MAP_PAGE_BYTES 4096u /* of the file */
#define MAP_PAGE_OWNER 0x3fffffffu /* FUTEX_TID_MASK */
#define MAP_PAGE_ENDED 0x40000000u /* FUTEX_OWNER_DIED */
