/* Ends of a call and of a connection: return of its room and release of its memory. */
#include "varlink/conn_state.h"

#include <stdlib.h>

void conn_ask_turn(struct conn *conn)
{
    if (conn->is_closing)
        return;
    conn_share_ask(&conn->host->share, &conn->seat);
    conn->host->soon(conn->host);
}

void conn_wake_queued(struct conn_host *host)
{
    if (host->rooms.first != NULL || host->budget.starved > 0)
        host->soon(host);
}

void conn_end_call(struct conn *conn)
{
    notifier_leave(conn->host->notifier, &conn->listener);
    if (conn->outcome.free_state != NULL)
        conn->outcome.free_state(conn->outcome.state);
    conn->outcome = (struct outcome){.kind = OUTCOME_RESULT};
    dispatch_done(&conn->call);
    conn->state = BETWEEN;
    conn_room_release(&conn->room);
    conn_wake_queued(conn->host);
}

void conn_free_when_over(struct conn *conn)
{
    if (!conn->is_closed || conn_is_on_pool(conn))
        return;
    struct conn_host *host = conn->host;
    if (conn->prev != NULL)
        conn->prev->next = conn->next;
    else
        host->first = conn->next;
    if (conn->next != NULL)
        conn->next->prev = conn->prev;
    host->count--;
    conn_room_leave(&conn->room, conn_input_done(&conn->input), host->count == 0);
    conn_share_leave(&host->share, &conn->seat, uv_hrtime());
    free(conn);
    conn_wake_queued(host);
    host->gone(host);
}

static void on_closed(uv_handle_t *handle)
{
    struct conn *conn = conn_of_input(handle->data);
    conn->is_closed = true;
    conn_free_when_over(conn);
}

void conn_close(struct conn *conn)
{
    if (conn->is_closing)
        return;
    conn->is_closing = true;
    conn_share_drop(&conn->host->share, &conn->seat);
    if (conn->state == STREAMING || conn->state == OPENED || conn_is_asking(conn))
        conn_end_call(conn);
    if (conn_is_on_pool(conn))
        conn_work_cancel(&conn->work);
    uv_close((uv_handle_t *)&conn->pipe, on_closed);
}
