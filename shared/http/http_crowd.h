/* SPDX-License-Identifier: MIT */
/*
 * http_crowd - chooses the connection to close when a server has too many.
 *
 * A client that sends its request a byte at a time is never idle, so a time limit on silence does
 * not end it, and enough of them would take all connections. When there are too many, the one that
 * has waited longest for the end of its request goes; one whose request is being answered never
 * does. No clock is needed: whoever asks at once is answered, however many others dawdle.
 * Private to shared/http. Threads: the server's one.
 *
 * Owner:   rows are the crowd's, from enter to leave.
 */
#ifndef NTK_SHARED_HTTP_HTTP_CROWD_H
#define NTK_SHARED_HTTP_HTTP_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/http/http_server.h"

/* Beyond the bound: connections that are on their way out. More are not accepted. */
#define NTK_HTTP_CROWD_SPARE 16
#define NTK_HTTP_CROWD_ROWS (NTK_HTTP_CONNECTIONS_MAX + NTK_HTTP_CROWD_SPARE)

struct ntk_http_crowd_row {
    bool is_used;
    bool is_answered; /* its request is whole and its answer is not */
    bool is_leaving;
    int fd;
    uint64_t since; /* it waits for a request: a number that counts up */
};

/* Zeroed is empty. */
struct ntk_http_crowd {
    struct ntk_http_crowd_row rows[NTK_HTTP_CROWD_ROWS];
    size_t count; /* without those that are leaving */
    uint64_t sequence;
};

/* A connection begins; NULL when there is no row left. Shuts another one down when there are too
 * many. */
struct ntk_http_crowd_row *ntk_http_crowd_enter(struct ntk_http_crowd *crowd, int fd);
/* NULL is fine in all of these. */
void ntk_http_crowd_leave(struct ntk_http_crowd *crowd, struct ntk_http_crowd_row *row);
void ntk_http_crowd_asked(struct ntk_http_crowd_row *row);
void ntk_http_crowd_answered(struct ntk_http_crowd *crowd, struct ntk_http_crowd_row *row);

#endif
