/*
 * Look-ups without calls, for programs that ask a million times: the daemon's answers are mapped
 * once, and again when it has measured anew. Built with
 *
 *     cc -o map map.c $(pkg-config --cflags --libs libberth)
 *
 * usage: ./map, with questions on standard input, one a line:
 *
 *     gpu0 numa0 1048576    how long a direct transfer takes, and by which mechanism
 *     gpu0 pinned           the nearest memory of that kind
 */
#include <berth.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {"", "system", "pinned", "managed", "device"};
static const char *const mechanisms[] = {"?", "?", "copy_engine", "kernel"};

/* Opens the map of the current snapshot. Without a daemon the old one, if there is one, goes on. */
static void refresh(struct berth *berth, struct berth_map **map)
{
    struct berth_map *newer = NULL;
    if (berth_connect(berth, NULL) < 0 || berth_map(berth, &newer) < 0) {
        printf("%s%s\n", berth_error_detail(berth), *map != NULL ? ": the old map goes on" : "");
        return;
    }
    berth_map_close(*map);
    *map = newer;
    printf("snapshot %s\n", berth_map_snapshot(newer));
}

static void answer(const struct berth_map *map, const char *from, const char *to, long long bytes)
{
    int a = berth_map_place(map, from), b = berth_map_place(map, to);
    double ns = berth_map_transfer_ns(map, a, b, bytes);
    if (isnan(ns))
        printf("%s to %s: unknown\n", from, to);
    else
        printf("%s to %s: %.0f ns by %s\n", from, to, ns,
               mechanisms[berth_map_mechanism(map, a, b, bytes)]);
}

static void answer_nearest(const struct berth_map *map, const char *place, const char *kind)
{
    int number = BERTH_KIND_DEVICE;
    while (number > 0 && strcmp(kinds[number], kind) != 0)
        number--;
    int memory =
        berth_map_nearest_memory(map, berth_map_place(map, place), (enum berth_memory_kind)number);
    printf("%s %s: %s\n", place, kind, memory < 0 ? "none" : berth_map_place_name(map, memory));
}

int main(void)
{
    struct berth *berth = berth_new();
    struct berth_map *map = NULL;
    char line[128], from[32], to[32];
    long long bytes;
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (berth != NULL && fgets(line, sizeof line, stdin) != NULL) {
        if (map == NULL || !berth_map_is_current(map))
            refresh(berth, &map);
        int words = sscanf(line, "%31s %31s %lld", from, to, &bytes);
        if (map != NULL && words == 3)
            answer(map, from, to, bytes);
        else if (map != NULL && words == 2)
            answer_nearest(map, from, to);
    }
    berth_map_close(map);
    berth_free(berth);
    return 0;
}
