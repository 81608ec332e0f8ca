#include "varlink/hub.h"

void hub_listen(struct hub *hub, struct hub_listener *listener)
{
    listener->prev = NULL;
    listener->next = hub->first;
    if (hub->first != NULL)
        hub->first->prev = listener;
    hub->first = listener;
}

void hub_leave(struct hub *hub, struct hub_listener *listener)
{
    if (listener->prev == NULL && hub->first != listener)
        return;
    if (hub->waking == listener)
        hub->waking = listener->next;
    if (listener->prev != NULL)
        listener->prev->next = listener->next;
    else
        hub->first = listener->next;
    if (listener->next != NULL)
        listener->next->prev = listener->prev;
    listener->prev = listener->next = NULL;
}

void hub_wake(struct hub *hub)
{
    /* Whoever leaves moves waking past itself, so that it always points at a member. New listeners
     * join in front of it. */
    hub->waking = hub->first;
    while (hub->waking != NULL) {
        struct hub_listener *listener = hub->waking;
        hub->waking = listener->next;
        listener->woken(listener);
    }
}
