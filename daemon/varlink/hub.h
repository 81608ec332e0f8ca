/**
 * Who waits for something to happen: streams listen, the scheduler wakes. Loop thread only.
 * Zero-initialise both structs; set woken before hub_listen.
 */
#pragma once
#include <stddef.h>

struct hub_listener {
    void (*woken)(struct hub_listener *listener);
    struct hub_listener *prev, *next; /* private */
};

struct hub {
    struct hub_listener *first;
    struct hub_listener *waking; /* private: the next one to call while hub_wake runs */
};

void hub_listen(struct hub *hub, struct hub_listener *listener); /* it must not listen already */
void hub_leave(struct hub *hub, struct hub_listener *listener);  /* fine when it does not listen */

/* Calls every listener once. A listener may leave, or be freed after leaving, while it or another
 * one is woken; one that joins meanwhile waits for the next wake. A wake within a wake calls
 * everybody again and ends the outer one. */
void hub_wake(struct hub *hub);
