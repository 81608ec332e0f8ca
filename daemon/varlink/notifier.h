/**
 * Wakes listeners: streams listen, the scheduler wakes. Loop thread only. Zero-initialise both
 * structs; set woken before notifier_listen.
 */
#pragma once
#include <stddef.h>

struct notifier_listener {
    void (*woken)(struct notifier_listener *listener);
    struct notifier_listener *prev, *next; /* private */
};

struct notifier {
    struct notifier_listener *first;
    struct notifier_listener *waking; /* private: the next one to call while notifier_wake runs */
};

void notifier_listen(struct notifier *notifier,
                     struct notifier_listener *listener); /* must not be listening */
void notifier_leave(struct notifier *notifier,
                    struct notifier_listener *listener); /* fine when it is not listening */

/* Calls every listener once. A listener may leave, or be freed after leaving, while it or another
 * one is woken. A listener that joins meanwhile waits for the next wake. A wake within a wake calls
 * every listener again and ends the outer one. */
void notifier_wake(struct notifier *notifier);
