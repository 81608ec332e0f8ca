#include "varlink/conn_room.h"

#include <malloc.h>
#include <stddef.h>

#define SCATTERED_MAX (16u << 20) /* trimming costs about a millisecond */

void conn_room_join(struct conn_room *room, struct conn_rooms *rooms, struct conn_user *user,
                    const struct outbox *outbox)
{
    *room = (struct conn_room){.rooms = rooms, .user = user, .outbox = outbox};
}

void conn_room_leave(struct conn_room *room, size_t buffered, bool is_last)
{
    conn_room_release(room);
    struct conn_rooms *rooms = room->rooms;
    rooms->scattered_bytes += room->outbox->queued_bytes + buffered;
    if (rooms->scattered_bytes < SCATTERED_MAX && (rooms->scattered_bytes == 0 || !is_last))
        return;
    malloc_trim(0);
    rooms->scattered_bytes = 0;
}

/* A user may hold at most as much as is left for others, so that the first bytes of a newcomer
 * always find room. */
static bool has_memory(const struct conn_room *room, const struct server_limits *limits)
{
    size_t all = room->rooms->unsent_bytes,
           left = all < limits->unsent_bytes_in_all ? limits->unsent_bytes_in_all - all : 0;
    return room->user->unsent_bytes <=
           (left < limits->unsent_bytes_per_user ? left : limits->unsent_bytes_per_user);
}

bool conn_room_for_call(const struct conn_room *room, const struct server_limits *limits)
{
    size_t unsent = outbox_unsent(room->outbox);
    return unsent == 0 || (unsent <= limits->unsent_bytes && has_memory(room, limits));
}

void conn_room_ask(struct conn_room *room)
{
    struct conn_rooms *rooms = room->rooms;
    if (rooms->last == NULL)
        rooms->last = &rooms->first;
    *rooms->last = room;
    rooms->last = &room->next;
    room->next = NULL;
    room->is_asking = true;
}

static void stop_asking(struct conn_room *room)
{
    struct conn_room **at = &room->rooms->first;
    while (*at != room)
        at = &(*at)->next;
    *at = room->next;
    if (*at == NULL)
        room->rooms->last = at;
    room->is_asking = false;
}

static bool has_thread(const struct conn_room *room, uint64_t now_ns)
{
    const struct conn_rooms *rooms = room->rooms;
    return conn_share_is_greedy(room->user, now_ns) ? rooms->slow < CONN_ROOM_SLOW
                                                    : rooms->working < CONN_ROOM_WORKING;
}

struct conn_room *conn_room_next(struct conn_rooms *rooms, const struct server_limits *limits,
                                 uint64_t now_ns)
{
    struct conn_room *best = NULL;
    for (struct conn_room *room = rooms->first; room != NULL; room = room->next)
        if ((best == NULL || room->user->served < best->user->served) &&
            room->user->large_calls < limits->large_calls_per_user && has_thread(room, now_ns) &&
            has_memory(room, limits))
            best = room;
    if (best == NULL)
        return NULL;
    stop_asking(best);
    best->is_held = best->is_working = true;
    best->is_slow = conn_share_is_greedy(best->user, now_ns);
    best->user->large_calls++;
    best->user->served = ++rooms->served;
    best->is_slow ? rooms->slow++ : rooms->working++;
    return best;
}

void conn_room_leave_pool(struct conn_room *room)
{
    if (room->is_working && room->is_slow)
        room->rooms->slow--;
    else if (room->is_working)
        room->rooms->working--;
    room->is_working = false;
}

void conn_room_release(struct conn_room *room)
{
    if (room->is_asking)
        stop_asking(room);
    room->user->large_calls -= room->is_held;
    room->is_held = false;
    conn_room_leave_pool(room);
}
