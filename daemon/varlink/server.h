/**
 * The server: Varlink on a Unix socket. It frames, checks each call against the embedded interface
 * files, finds the method's row, passes it a snapshot and sends its outcome. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/config.h"
#include "base/err.h"
#include "varlink/method.h"
#include "varlink/notifier.h"
#include "varlink/server_limits.h"

struct server;

/* Limits of a configuration: the only source of their defaults. */
struct server_limits server_limits_of(const struct config *config);

struct server_config {
    const struct method *methods;
    struct daemon *daemon;
    const struct snapshot *(*snapshot)(struct daemon *daemon); /* the current one, borrowed */
    /* called on the loop when a call's work on the thread pool has ended; NULL fine */
    void (*worked)(struct daemon *daemon);
    struct notifier *notifier;
    struct log_limit *log; /* NULL: no limit */
    struct server_limits limits;
    const char *admin_group;                      /* NULL none */
    const char *vendor, *product, *version, *url; /* org.varlink.service.GetInfo */
    /* for tests: a reply or error that its interface file does not declare becomes Unavailable */
    bool check_replies;
};

/* Parses the embedded interfaces (a method row that no interface declares is a bug and aborts).
 * Ignores SIGPIPE from now on, in the whole process: libuv writes to sockets without MSG_NOSIGNAL.
 * The loop and methods, daemon, notifier and log of config must outlive the server; the rest is
 * copied. */
enum berth_code server_new(uv_loop_t *loop, const struct server_config *config,
                           struct server **ret_server, struct berth_err *err);

/* Adds a listening socket of ours or of socket activation; on failure it is closed. unlink_path
 * (copied): removed at close (NULL for activation). May be called for several sockets. */
enum berth_code server_listen(struct server *server, int take_fd, const char *unlink_path,
                              struct berth_err *err);

unsigned server_clients(const struct server *server);

/* Applies new limits and a new group (SIGHUP), the group to open connections too. A group that does
 * not exist has no members. */
void server_configure(struct server *server, const struct server_limits *limits,
                      const char *admin_group);

/* Stops listening and closes every connection (pending replies that fit the socket are sent first).
 * Frees the server and calls done when the last handle is closed. */
void server_close(struct server *server, void (*done)(void *arg), void *arg);
