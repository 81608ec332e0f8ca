/**
 * The server: Varlink on a Unix socket. It frames, checks each call against the embedded interface files, finds the
 * method's row, hands it a snapshot and sends what comes back. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "err.h"
#include "hub.h"
#include "method.h"

struct server;

struct server_limits {
    size_t message_bytes;       /* longest incoming message, NUL included: 1 MiB */
    size_t unsent_bytes;        /* a peer with more than this unread gets no new reply started: 4 MiB; see server.c for the rule */
    unsigned connections;       /* in all */
    unsigned connections_per_user; /* root and the daemon's user are exempt */
    unsigned queued_calls;      /* pipelined calls of one connection waiting */
    uint64_t idle_ms;           /* a connection with no call pending and no stream is closed after this; 0 never */
    uint64_t half_message_ms;   /* a message must be complete this long after its first byte */
};
extern const struct server_limits server_default_limits;

struct server_config {
    const struct method *methods;
    struct daemon *daemon;
    struct snapshot *(*snapshot)(struct daemon *daemon); /* the current one, borrowed */
    struct hub *hub;
    struct server_limits limits;
    const char *admin_group; /* NULL none */
    const char *vendor, *product, *version, *url; /* org.varlink.service.GetInfo */
};

/* Parses the embedded interfaces (a method row that no interface declares is a bug and aborts). */
enum berth_code server_new(uv_loop_t *loop, const struct server_config *config, struct server **ret_server, struct berth_err *err);

/* Takes a listening socket of ours or of socket activation. unlink_path: removed at close (NULL for activation). */
enum berth_code server_listen(struct server *server, int take_fd, const char *unlink_path, struct berth_err *err);

unsigned server_clients(const struct server *server);

/* New limits and group from now on (SIGHUP). */
void server_configure(struct server *server, const struct server_limits *limits, const char *admin_group);

/* Stops listening, closes every connection (pending replies that fit the socket are sent first) and calls done when
 * the last handle is closed; the server is freed then. */
void server_close(struct server *server, void (*done)(void *arg), void *arg);
