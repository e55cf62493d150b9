/* SPDX-License-Identifier: MIT */
/* http_crowd - picks the connection to close if a server has too many. */
#include "shared/http/http_crowd.h"

#include <sys/socket.h>

static void make_room(struct ntk_http_crowd *crowd)
{
    struct ntk_http_crowd_row *oldest = NULL;

    for (size_t i = 0; i < NTK_HTTP_CROWD_ROWS; i++) {
        struct ntk_http_crowd_row *row = &crowd->rows[i];

        if (row->is_used && !row->is_answered && !row->is_leaving &&
            (!oldest || row->since < oldest->since)) {
            oldest = row;
        }
    }
    if (oldest) {
        oldest->is_leaving = true;
        crowd->count--;
        /* The server then reads the end of the stream and closes the connection. */
        (void)shutdown(oldest->fd, SHUT_RDWR);
    }
}

struct ntk_http_crowd_row *ntk_http_crowd_enter(struct ntk_http_crowd *crowd, int fd)
{
    if (crowd->count >= NTK_HTTP_CONNECTIONS_MAX) {
        make_room(crowd);
    }
    for (size_t i = 0; i < NTK_HTTP_CROWD_ROWS; i++) {
        struct ntk_http_crowd_row *row = &crowd->rows[i];

        if (!row->is_used) {
            *row = (struct ntk_http_crowd_row){ .is_used = true,
                                                .fd = fd,
                                                .since = crowd->sequence++ };
            crowd->count++;
            return row;
        }
    }
    return NULL;
}

void ntk_http_crowd_leave(struct ntk_http_crowd *crowd, struct ntk_http_crowd_row *row)
{
    if (row) {
        crowd->count -= !row->is_leaving;
        *row = (struct ntk_http_crowd_row){ 0 };
    }
}

void ntk_http_crowd_asked(struct ntk_http_crowd_row *row)
{
    if (row) {
        row->is_answered = true;
    }
}

void ntk_http_crowd_answered(struct ntk_http_crowd *crowd, struct ntk_http_crowd_row *row)
{
    if (row) {
        row->is_answered = false;
        row->since = crowd->sequence++;
    }
}
