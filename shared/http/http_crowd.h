/* SPDX-License-Identifier: MIT */
/*
 * http_crowd - picks the connection to close if a server has too many.
 *
 * A client that sends its request byte by byte is never idle, so an idle limit does not end it, and
 * many of them could take all connections. If there are too many, the connection that has waited
 * longest for the end of its request is closed, but never one with a complete request. No clock is
 * needed: fast clients are answered, whatever the number of slow ones. Private to shared/http.
 * Threads: that of the server.
 *
 * Owner:   the crowd owns rows from enter to leave.
 */
#ifndef NTK_SHARED_HTTP_HTTP_CROWD_H
#define NTK_SHARED_HTTP_HTTP_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/http/http_server.h"

/* Number of connections beyond the limit that may be in the state of being closed. Further ones are
 * not accepted. */
#define NTK_HTTP_CROWD_SPARE 16
#define NTK_HTTP_CROWD_ROWS (NTK_HTTP_CONNECTIONS_MAX + NTK_HTTP_CROWD_SPARE)

struct ntk_http_crowd_row {
    bool is_used;
    bool is_answered; /* its request is complete, but its response is not */
    bool is_leaving;
    int fd;
    uint64_t since; /* sequence number of the time since which it waits for a request */
};

/* The connections of a server. A zeroed struct is empty. */
struct ntk_http_crowd {
    struct ntk_http_crowd_row rows[NTK_HTTP_CROWD_ROWS];
    size_t count; /* number of rows, without those being closed */
    uint64_t sequence;
};

/* Adds a new connection, and closes another one if there are too many. Returns NULL if no row is
 * left. */
struct ntk_http_crowd_row *ntk_http_crowd_enter(struct ntk_http_crowd *crowd, int fd);
/* These functions accept a NULL row. */
void ntk_http_crowd_leave(struct ntk_http_crowd *crowd, struct ntk_http_crowd_row *row);
void ntk_http_crowd_asked(struct ntk_http_crowd_row *row);
void ntk_http_crowd_answered(struct ntk_http_crowd *crowd, struct ntk_http_crowd_row *row);

#endif
