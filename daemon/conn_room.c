#include "conn_room.h"

#include <malloc.h>
#include <stddef.h>

#define SCATTERED_MAX (16u << 20) /* trimming costs about a millisecond */

/* What one user holds. */
struct usage {
    size_t unsent_bytes;
    unsigned large_calls;
    uint64_t next_ticket; /* whose turn it is */
};

static struct usage usage_of(const struct conn_rooms *rooms, uid_t uid)
{
    struct usage usage = {.next_ticket = UINT64_MAX};
    for (const struct conn_room *room = rooms->first; room != NULL; room = room->next) {
        if (room->uid != uid)
            continue;
        usage.unsent_bytes += room->outbox->held_bytes;
        usage.large_calls += room->is_held;
        if (room->ticket > 0 && room->ticket < usage.next_ticket)
            usage.next_ticket = room->ticket;
    }
    return usage;
}

void conn_room_join(struct conn_room *room, struct conn_rooms *rooms, uid_t uid, const struct outbox *outbox)
{
    *room = (struct conn_room){.rooms = rooms, .uid = uid, .outbox = outbox, .next = rooms->first};
    if (rooms->first != NULL)
        rooms->first->prev = room;
    rooms->first = room;
}

void conn_room_leave(struct conn_room *room)
{
    conn_room_let_go(room);
    if (room->prev != NULL)
        room->prev->next = room->next;
    else
        room->rooms->first = room->next;
    if (room->next != NULL)
        room->next->prev = room->prev;
    struct conn_rooms *rooms = room->rooms;
    rooms->scattered_bytes += room->outbox->queued_bytes;
    if (rooms->scattered_bytes < SCATTERED_MAX && (rooms->scattered_bytes == 0 || rooms->first != NULL))
        return;
    malloc_trim(0);
    rooms->scattered_bytes = 0;
}

bool conn_room_for_call(const struct conn_room *room, const struct server_limits *limits)
{
    size_t unsent = outbox_unsent(room->outbox);
    if (unsent == 0)
        return true;
    return unsent <= limits->unsent_bytes && usage_of(room->rooms, room->uid).unsent_bytes <= limits->unsent_bytes_per_user;
}

void conn_room_ask(struct conn_room *room)
{
    room->ticket = ++room->rooms->last_ticket;
    room->rooms->asking++;
}

static bool has_room(const struct usage *usage, const struct server_limits *limits)
{
    return usage->large_calls < limits->large_calls_per_user && usage->unsent_bytes <= limits->unsent_bytes_per_user;
}

/* Whether another user's call asked earlier and could go now. */
static bool goes_before(const struct conn_room *room, const struct server_limits *limits)
{
    uid_t full = room->uid; /* without room for more: the last one seen */
    for (const struct conn_room *other = room->rooms->first; other != NULL; other = other->next) {
        if (other->ticket == 0 || other->ticket >= room->ticket || other->uid == full || other->uid == room->uid)
            continue;
        struct usage usage = usage_of(room->rooms, other->uid);
        if (has_room(&usage, limits))
            return true;
        full = other->uid;
    }
    return false;
}

bool conn_room_take(struct conn_room *room, const struct server_limits *limits)
{
    struct usage usage = usage_of(room->rooms, room->uid);
    if (room->rooms->working >= CONN_ROOM_WORKING || usage.next_ticket != room->ticket || !has_room(&usage, limits) || goes_before(room, limits))
        return false;
    conn_room_let_go(room);
    room->is_held = room->is_working = true;
    room->rooms->working++;
    return true;
}

void conn_room_worked(struct conn_room *room)
{
    room->rooms->working -= room->is_working;
    room->is_working = false;
}

void conn_room_let_go(struct conn_room *room)
{
    room->rooms->asking -= room->ticket > 0;
    room->ticket = 0;
    room->is_held = false;
    conn_room_worked(room);
}
