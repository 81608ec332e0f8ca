/**
 * Talks to the service manager without libsystemd: sd_notify(3) datagrams to $NOTIFY_SOCKET.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct service_manager; /* NULL is a valid notifier that sends nothing */

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. NULL when there is no service manager. */
struct service_manager *service_manager_new(void);
void service_manager_free(struct service_manager *notify);

/* Sends "READY=1", "STATUS=...", "STOPPING=1" or "RELOADING=1\nMONOTONIC_USEC=..." Never blocks; a
 * lost datagram is lost. */
void service_manager_send(struct service_manager *notify, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns half the watchdog period in ms, 0 when there is none. */
uint64_t service_manager_watchdog_ms(const struct service_manager *notify);

/* Returns the number in a variable that the service manager sets, such as LISTEN_FDS; -1 when it is
 * not set, or no number. */
int64_t service_manager_number(const char *name);
