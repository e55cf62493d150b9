/* SPDX-License-Identifier: MIT */
/* push_status - interprets statuses with a table of ranges; the first matching row is used. */
#include "exporters/transport/push_status.h"

#include <stdio.h>
#include <string.h>

#include "shared/base/str.h"

#define SAID_BYTES 200

static const struct {
    long first;
    long last;
    enum ntk_outbox_result result[2]; /* result by protocol */
} rows[] = {
    { 200, 299, { NTK_OUTBOX_SENT, NTK_OUTBOX_SENT } },
    { 300, 399, { NTK_OUTBOX_RETRY, NTK_OUTBOX_RETRY } },
    { 429, 429, { NTK_OUTBOX_RETRY, NTK_OUTBOX_RETRY } },
    { 502, 504, { NTK_OUTBOX_RETRY, NTK_OUTBOX_RETRY } },
    { 500, 599, { NTK_OUTBOX_RETRY, NTK_OUTBOX_REFUSED } },
};

void ntk_push_status_judge(enum ntk_push_protocol protocol, const struct ntk_http_answer *answer,
                           const char *said, struct ntk_outbox_answer *out_answer)
{
    char shown[SAID_BYTES];

    out_answer->result = NTK_OUTBOX_REFUSED;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (answer->status >= rows[i].first && answer->status <= rows[i].last) {
            out_answer->result = rows[i].result[protocol];
            break;
        }
    }
    if (out_answer->result == NTK_OUTBOX_SENT) {
        return;
    }
    out_answer->retry_after_ns = answer->retry_after_ns;
    ntk_str_copy_clean(shown, sizeof shown, said, strcspn(said, "\r\n"));
    (void)snprintf(out_answer->text, sizeof out_answer->text, "status %ld%s%s%s", answer->status,
                   answer->status / 100 == 3 ? ", a redirect (redirects are not followed)" : "",
                   shown[0] ? ": " : "", shown);
}
