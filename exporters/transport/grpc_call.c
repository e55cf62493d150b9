/* SPDX-License-Identifier: MIT */
/* grpc_call - frames messages and interprets the statuses of responses. */
#include "exporters/transport/grpc_call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exporters/transport/grpc_status.pb-c.h"
#include "exporters/transport/push_status.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "shared/http/http_gzip.h"

#define TEXT_BYTES 200
/* maximum size of the header, in base64: all headers together have at most 8 KiB */
#define DETAILS_BYTES 8193
#define PAUSE_SECONDS_MAX 3600
#define INVALID_ARGUMENT 3
#define RESOURCE_EXHAUSTED 8
#define MESSAGE_BYTES_MAX (64U << 10)

static const struct {
    const char *name;
    enum ntk_outbox_result result;
} statuses[] = {
    { "OK", NTK_OUTBOX_SENT },
    { "CANCELLED", NTK_OUTBOX_RETRY },
    { "UNKNOWN", NTK_OUTBOX_REFUSED },
    { "INVALID_ARGUMENT", NTK_OUTBOX_REFUSED },
    { "DEADLINE_EXCEEDED", NTK_OUTBOX_RETRY },
    { "NOT_FOUND", NTK_OUTBOX_REFUSED },
    { "ALREADY_EXISTS", NTK_OUTBOX_REFUSED },
    { "PERMISSION_DENIED", NTK_OUTBOX_REFUSED },
    { "RESOURCE_EXHAUSTED", NTK_OUTBOX_REFUSED }, /* sent again if it has a RetryInfo */
    { "FAILED_PRECONDITION", NTK_OUTBOX_REFUSED },
    { "ABORTED", NTK_OUTBOX_RETRY },
    { "OUT_OF_RANGE", NTK_OUTBOX_RETRY },
    { "UNIMPLEMENTED", NTK_OUTBOX_REFUSED },
    { "INTERNAL", NTK_OUTBOX_REFUSED },
    { "UNAVAILABLE", NTK_OUTBOX_RETRY },
    { "DATA_LOSS", NTK_OUTBOX_RETRY },
    { "UNAUTHENTICATED", NTK_OUTBOX_REFUSED },
};

int ntk_grpc_frame(const void *bytes, size_t bytes_count, bool is_gzip, struct ntk_buf *out)
{
    if (bytes_count > UINT32_MAX) {
        return -ENOMEM;
    }
    ntk_buf_put_u8(out, is_gzip);
    for (int shift = 24; shift >= 0; shift -= 8) {
        ntk_buf_put_u8(out, (uint8_t)(bytes_count >> shift));
    }
    ntk_buf_add(out, bytes, bytes_count);
    return ntk_buf_ok(out) ? 0 : -ENOMEM;
}

int ntk_grpc_message(const struct ntk_buf *body, struct ntk_buf *out)
{
    const uint8_t *frame = (const uint8_t *)body->bytes;

    if (body->bytes_count < NTK_GRPC_FRAME_BYTES) {
        return -EBADMSG;
    }
    size_t count =
        (size_t)frame[1] << 24 | (size_t)frame[2] << 16 | (size_t)frame[3] << 8 | frame[4];
    if (count > body->bytes_count - NTK_GRPC_FRAME_BYTES) {
        return -EBADMSG;
    }
    if (frame[0] == 1) {
        return ntk_http_gunzip(frame + NTK_GRPC_FRAME_BYTES, count, MESSAGE_BYTES_MAX, out);
    }
    ntk_buf_add(out, frame + NTK_GRPC_FRAME_BYTES, count);
    return ntk_buf_ok(out) ? 0 : -ENOMEM;
}

/* -- details: a google.rpc.Status in base64 ---------------------------------------------------- */

/* Decodes in place; returns the number of bytes. Padding may be missing. */
static size_t decode_base64(char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t count = 0;
    uint32_t bits = 0;
    unsigned have = 0;

    for (const char *at = text; *at && *at != '='; at++) {
        const char *digit = strchr(digits, *at);
        if (!digit) {
            return 0;
        }
        bits = bits << 6 | (uint32_t)(digit - digits);
        have += 6;
        if (have >= 8) {
            have -= 8;
            text[count++] = (char)(bits >> have);
        }
    }
    return count;
}

/* Reads the pause that a RetryInfo requests; false if there is none. */
static bool read_retry_info(const Ntk__Grpc__Status *status, uint64_t *out_ns)
{
    static const char name[] = "/google.rpc.RetryInfo";

    for (size_t i = 0; i < status->n_details; i++) {
        const Ntk__Grpc__Any *any = status->details[i];
        size_t length = strlen(any->type_url);
        if (length < sizeof name - 1 ||
            strcmp(any->type_url + length - (sizeof name - 1), name) != 0) {
            continue;
        }
        Ntk__Grpc__RetryInfo *info =
            ntk__grpc__retry_info__unpack(NULL, any->value.len, any->value.data);
        const Ntk__Grpc__Duration *delay = info ? info->retry_delay : NULL;
        int64_t seconds = delay && delay->seconds > 0 ? delay->seconds : 0;
        *out_ns = (uint64_t)(seconds < PAUSE_SECONDS_MAX ? seconds : PAUSE_SECONDS_MAX) *
                      NTK_NS_PER_SECOND +
                  (delay && delay->nanos > 0 ? (uint64_t)delay->nanos : 0);
        if (info) {
            ntk__grpc__retry_info__free_unpacked(info, NULL);
        }
        return true;
    }
    return false;
}

static bool has_retry_info(const struct ntk_http_answer *answer, uint64_t *out_ns)
{
    char text[DETAILS_BYTES];

    if (!ntk_http_answer_header_get(answer, "grpc-status-details-bin", text, sizeof text)) {
        return false;
    }
    size_t count = decode_base64(text);
    Ntk__Grpc__Status *status = ntk__grpc__status__unpack(NULL, count, (const uint8_t *)text);
    bool has = status && read_retry_info(status, out_ns);
    if (status) {
        ntk__grpc__status__free_unpacked(status, NULL);
    }
    return has;
}

/* -- statuses ---------------------------------------------------------------------------------- */

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Reads the first line, without percent encoding and control characters; "" if absent. */
static void read_message(const struct ntk_http_answer *answer, char text[TEXT_BYTES])
{
    char said[TEXT_BYTES] = "";
    size_t count = 0;

    text[0] = '\0';
    if (!ntk_http_answer_header_get(answer, "grpc-message", said, sizeof said)) {
        return;
    }
    for (const char *at = said; *at; at++) {
        int high = *at == '%' ? hex(at[1]) : -1;
        int low = high >= 0 ? hex(at[2]) : -1;
        said[count++] = low >= 0 ? (char)(high * 16 + low) : *at;
        at += low >= 0 ? 2 : 0;
    }
    said[count] = '\0';
    ntk_str_copy_clean(text, TEXT_BYTES, said, strcspn(said, "\r\n"));
}

static bool read_status(const struct ntk_http_answer *answer, uint64_t *out_status)
{
    char number[12];

    return ntk_http_answer_header_get(answer, "grpc-status", number, sizeof number) &&
           ntk_str_parse_u64(number, out_status) == 0;
}

bool ntk_grpc_is_invalid(const struct ntk_http_answer *answer)
{
    uint64_t status;

    return read_status(answer, &status) && status == INVALID_ARGUMENT;
}

void ntk_grpc_judge(const struct ntk_http_answer *answer, struct ntk_outbox_answer *out_answer)
{
    char number[24];
    char said[TEXT_BYTES];
    uint64_t status;

    if (!read_status(answer, &status)) {
        ntk_push_status_judge(NTK_PUSH_OTLP, answer, "", out_answer);
        if (out_answer->result == NTK_OUTBOX_SENT) {
            out_answer->result = NTK_OUTBOX_RETRY;
            (void)snprintf(out_answer->text, sizeof out_answer->text,
                           "the response has no gRPC status");
        }
        return;
    }
    bool is_known = status < sizeof statuses / sizeof *statuses;
    out_answer->result = is_known ? statuses[status].result : NTK_OUTBOX_REFUSED;
    if (out_answer->result == NTK_OUTBOX_SENT) {
        return;
    }
    out_answer->retry_after_ns = answer->retry_after_ns;
    if (has_retry_info(answer, &out_answer->retry_after_ns) && status == RESOURCE_EXHAUSTED) {
        out_answer->result = NTK_OUTBOX_RETRY;
    }
    read_message(answer, said);
    (void)snprintf(number, sizeof number, "%" PRIu64, status);
    (void)snprintf(out_answer->text, sizeof out_answer->text, "status %s%s%s",
                   is_known ? statuses[status].name : number, said[0] ? ": " : "", said);
}
