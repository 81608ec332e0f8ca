#include "varlink/notifier.h"

void notifier_listen(struct notifier *notifier, struct notifier_listener *listener)
{
    listener->prev = NULL;
    listener->next = notifier->first;
    if (notifier->first != NULL)
        notifier->first->prev = listener;
    notifier->first = listener;
}

void notifier_leave(struct notifier *notifier, struct notifier_listener *listener)
{
    if (listener->prev == NULL && notifier->first != listener)
        return;
    if (notifier->waking == listener)
        notifier->waking = listener->next;
    if (listener->prev != NULL)
        listener->prev->next = listener->next;
    else
        notifier->first = listener->next;
    if (listener->next != NULL)
        listener->next->prev = listener->prev;
    listener->prev = listener->next = NULL;
}

void notifier_wake(struct notifier *notifier)
{
    /* A listener that leaves moves waking past itself, so that waking always points at a member.
     * New listeners join in front of it. */
    notifier->waking = notifier->first;
    while (notifier->waking != NULL) {
        struct notifier_listener *listener = notifier->waking;
        notifier->waking = listener->next;
        listener->woken(listener);
    }
}
