/* SPDX-License-Identifier: MIT */
/* otlp_answer - decodes the peer's response to a request. */
#include "exporters/otlp/otlp_encode.h"

#include <string.h>

#include "exporters/otlp/otlp.pb-c.h"
#include "shared/base/str.h"

static void copy_message(char *to, size_t to_bytes, const char *message)
{
    ntk_str_copy_clean(to, to_bytes, message, strlen(message));
}

bool ntk_otlp_read_partial(const void *bytes, size_t bytes_count, uint64_t *out_refused_points,
                           char *text, size_t text_bytes)
{
    Ntk__Otlp__Response *response = ntk__otlp__response__unpack(NULL, bytes_count, bytes);
    const Ntk__Otlp__PartialSuccess *partial = response ? response->partial_success : NULL;
    bool has = partial && (partial->rejected_items > 0 || partial->error_message[0]);

    if (has) {
        *out_refused_points = partial->rejected_items > 0 ? (uint64_t)partial->rejected_items : 0;
        copy_message(text, text_bytes,
                     partial->error_message[0] ? partial->error_message : "no reason given");
    }
    if (response) {
        ntk__otlp__response__free_unpacked(response, NULL);
    }
    return has;
}

bool ntk_otlp_read_status(const void *bytes, size_t bytes_count, char *text, size_t text_bytes)
{
    Ntk__Otlp__Status *status = ntk__otlp__status__unpack(NULL, bytes_count, bytes);
    bool has = status && status->message[0];

    if (has) {
        copy_message(text, text_bytes, status->message);
    }
    if (status) {
        ntk__otlp__status__free_unpacked(status, NULL);
    }
    return has;
}
