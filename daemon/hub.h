/**
 * Who waits for something to happen: streams listen, the scheduler wakes. Loop thread only.
 */
#pragma once
#include <stddef.h>

struct hub_listener {
    void (*woken)(struct hub_listener *listener);
    struct hub_listener *prev, *next; /* private */
};

struct hub {
    struct hub_listener *first;
};

void hub_listen(struct hub *hub, struct hub_listener *listener);
void hub_leave(struct hub *hub, struct hub_listener *listener); /* fine when it does not listen */

/* Calls every listener once. A listener may leave, or be freed, while it or another one is woken. */
void hub_wake(struct hub *hub);
