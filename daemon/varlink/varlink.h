/**
 * Folder daemon/varlink: the wire: sockets, framing, interface descriptions, checks of
 *   messages, dispatch to methods, budgets of users.
 *
 * Main types: struct server, struct conn, struct method, struct call, struct outcome, struct
 *   notifier.
 * Uses: base
 * Public headers: notifier.h listen.h method.h server.h varlink.h
 * Shown by: tests/unit/varlink, tests/wire
 */
#pragma once
