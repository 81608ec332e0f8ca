/* Calls of a connection: parsing, running and answering one call at a time. */
#include "varlink/conn_state.h"

#include "base/log.h"
#include "base/log_limit.h"

/* A part of a reply cannot be revoked, so a reply that fails ends the connection. */
static void send_reply(struct conn *conn, const struct print *reply)
{
    if (!outbox_send(&conn->outbox, reply->data, reply->length))
        conn_close(conn);
}

static void give_reply(struct conn *conn, struct print *reply)
{
    if (!outbox_give(&conn->outbox, reply->data, reply->length))
        conn_close(conn);
    *reply = (struct print){0};
}

static void answer_error(struct conn *conn, struct berth_err *err)
{
    if (conn->call.oneway || conn->is_closing)
        return;
    struct berth_err undeclared = {0};
    if (conn->host->check_replies &&
        dispatch_check_error(&conn->call, err->code, &undeclared) != BERTH_OK)
        err = &undeclared;
    reply_error(&conn->host->reply, dispatch_interface(&conn->call), err);
    send_reply(conn, &conn->host->reply);
}

static void answer_result(struct conn *conn, json_t *take_result, bool continues)
{
    struct berth_err err = {0};
    if (conn->call.oneway || conn->is_closing)
        json_decref(take_result);
    else if (dispatch_print(&conn->call, conn->host->check_replies, take_result, continues,
                            &conn->host->reply, &err) == BERTH_OK)
        send_reply(conn, &conn->host->reply);
    else
        answer_error(conn, &err);
}

/* Sends a reply with the files of the outcome. */
static void pass_reply(struct conn *conn, const struct print *reply)
{
    struct berth_err err = {0};
    if (outbox_pass(&conn->outbox, reply->data, reply->length, conn->outcome.descriptor,
                    conn->outcome.descriptor_count, &err) != BERTH_OK)
        answer_error(conn, &err);
}

static void answer_written(struct conn *conn)
{
    struct berth_err err = {0};
    if (conn->call.oneway)
        return;
    if (dispatch_write(&conn->call, conn->host->check_replies, &conn->outcome, &conn->host->reply,
                       &err) != BERTH_OK)
        answer_error(conn, &err);
    else if (conn->outcome.descriptor_count > 0)
        pass_reply(conn, &conn->host->reply);
    else
        send_reply(conn, &conn->host->reply);
}

static void work_done(struct conn_work *work)
{
    struct conn *conn = (struct conn *)((char *)work - offsetof(struct conn, work));
    if (conn->host->worked != NULL)
        conn->host->worked(conn->host->context.daemon);
    conn_share_charge_pool(conn->seat.user, work->elapsed_ns, uv_hrtime());
    conn_room_leave_pool(&conn->room);
    conn_wake_queued(conn->host);
    if (work->code == BERTH_OK && conn->outcome.kind == OUTCOME_STREAM && !conn->is_closing) {
        conn->state = STREAMING;
        notifier_listen(conn->host->notifier, &conn->listener);
    } else {
        if (work->code != BERTH_OK)
            answer_error(conn, &work->err);
        else if (conn->call.oneway || conn->is_closing)
            ; /* nobody reads it */
        else if (conn->outcome.descriptor_count > 0)
            pass_reply(conn, &work->reply);
        else
            give_reply(conn, &work->reply);
        conn_end_call(conn);
    }
    print_done(&work->reply);
    if (conn->is_closing)
        conn_free_when_over(conn);
    else
        conn_ask_turn(conn);
}

static void message_opened(struct conn_work *work);

void conn_call_work(struct conn *conn)
{
    struct berth_err err = {0};
    enum berth_code code;
    conn->work.call = &conn->call;
    conn->work.outcome = &conn->outcome;
    conn->work.check_replies = conn->host->check_replies;
    conn->work.slow = conn->room.is_slow ? conn->host->slow : NULL;
    if (conn->state == UNOPENED) {
        conn->state = OPENING;
        conn->work.done = message_opened;
        code = conn_work_open(&conn->work, conn->host->loop, conn->host->context.service, &err);
    } else {
        conn->state = WORKING;
        conn->work.done = work_done;
        code = conn_work_start(&conn->work, conn->host->loop, &err);
    }
    if (code == BERTH_OK)
        return;
    answer_error(conn, &err);
    conn_end_call(conn);
}

bool conn_call_pull(struct conn *conn)
{
    json_t *reply = NULL;
    struct berth_err err = {0};
    switch (conn->outcome.next(conn->outcome.state, &reply, &err)) {
    case STREAM_WAIT:
        return false;
    case STREAM_REPLY:
        if (conn->call.more)
            answer_result(conn, reply, true);
        else
            json_decref(reply);
        return true;
    case STREAM_LAST:
        answer_result(conn, reply, false);
        break;
    case STREAM_ERROR:
        answer_error(conn, &err);
        break;
    }
    if (conn->state == STREAMING) /* a failed write may have ended the call */
        conn_end_call(conn);
    return true;
}

void conn_call_woken(struct notifier_listener *listener)
{
    struct conn *conn = (struct conn *)((char *)listener - offsetof(struct conn, listener));
    conn_ask_turn(conn);
}

static void ask_for_room(struct conn *conn, enum conn_state state)
{
    conn->state = state;
    conn_room_ask(&conn->room);
    conn->host->soon(conn->host);
}

/* Handles a message that could not be parsed. */
static void refuse_message(struct conn *conn, enum berth_code code, struct berth_err *err)
{
    conn->state = BETWEEN;
    if (code != BERTH_BAD_DATA)
        answer_error(conn, err);
    else if (log_limit_allows(conn->host->log, conn->peer.uid, "closed connections"))
        log_line(LOG_LEVEL_NOTICE, "a connection of uid %lu is closed: %s",
                 (unsigned long)conn->peer.uid, err->detail);
    if (code == BERTH_BAD_DATA || code == BERTH_INVALID_PARAMETER)
        conn->is_finishing = true; /* the peer's intention is unknown */
}

/* Frees the message before the call ends: a parsed message can be a hundred times its text, and a
 * stream lasts for days. */
static void release_message(struct conn *conn)
{
    json_t *message = conn->call.is_large ? dispatch_take_message(&conn->call) : NULL;
    if (message != NULL)
        conn_work_drop(conn->host->loop, conn->work.slow, message);
    else
        json_object_clear(conn->call.message);
}

static void run_call(struct conn *conn)
{
    struct berth_err err = {0};
    struct outcome outcome = {.kind = OUTCOME_RESULT};
    enum berth_code code =
        dispatch_call(&conn->call, &conn->host->context, &conn->peer, &outcome, &err);
    release_message(conn);
    if (code != BERTH_OK) {
        err_set(&err, code, "%s",
                err_info(code)->about); /* default when the handler set no error */
        answer_error(conn, &err);
        conn_end_call(conn);
        return;
    }
    conn->outcome = outcome;
    if (outcome.kind == OUTCOME_RESULT) {
        outcome.write != NULL ? answer_written(conn) : answer_result(conn, outcome.result, false);
        conn_end_call(conn);
        return;
    }
    if (outcome.kind == OUTCOME_STREAM && conn->call.oneway && !outcome.acts) {
        conn_end_call(conn); /* the replies of a oneway call have no reader */
    } else if (outcome.kind == OUTCOME_WORK || outcome.work != NULL) {
        ask_for_room(conn, QUEUED);
    } else {
        conn->state = STREAMING;
        notifier_listen(conn->host->notifier, &conn->listener);
    }
}

static void message_opened(struct conn_work *work)
{
    struct conn *conn = (struct conn *)((char *)work - offsetof(struct conn, work));
    conn_share_charge_pool(conn->seat.user, work->elapsed_ns, uv_hrtime());
    conn_room_release(&conn->room);
    conn_wake_queued(conn->host);
    conn->state = BETWEEN;
    if (work->code == BERTH_OK) {
        conn->call = work->opened;
        conn->state = OPENED;
    } else if (!conn->is_closing) {
        refuse_message(conn, work->code, &work->err);
    }
    if (!conn->is_closing) {
        conn_ask_turn(conn);
        return;
    }
    if (conn->state == OPENED)
        conn_end_call(conn);
    conn_free_when_over(conn);
}

void conn_call_open(struct conn *conn, const char *text, size_t length)
{
    struct berth_err err = {0};
    if (!dispatch_is_light(text, length)) {
        conn->work.text = text;
        conn->work.length = length;
        ask_for_room(conn, UNOPENED);
        return;
    }
    enum berth_code code = dispatch_open(&conn->call, text, length, &err);
    if (code != BERTH_OK)
        refuse_message(conn, code, &err);
    else
        run_call(conn);
}

void conn_call_refuse_long(struct conn *conn)
{
    const struct wire *wire = &conn->input.wire;
    struct berth_err err = {0};
    conn->is_finishing = true;
    if (dispatch_may_be_oneway(wire->data + wire->start, wire->end - wire->start))
        return;
    err_set(&err, BERTH_INVALID_PARAMETER, "a message of more than %zu bytes, its NUL included",
            wire->limit);
    err_text(&err, 0, "message");
    answer_error(conn, &err);
}

void conn_call_run(struct conn *conn) { run_call(conn); }
