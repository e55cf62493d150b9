/* SPDX-License-Identifier: MIT */
/*
 * remote_write - converts each snapshot to samples with its time and pushes them in order to a
 * receiver of Prometheus remote write.
 *
 * The receiver's version is derived from its responses. Messages have version 2.0 until the
 * receiver rejects one and accepts the same samples in version 1.0. From then on they have version
 * 1.0, and waiting messages of 2.0 are converted when sent.
 */
#include "exporters/remote_write/remote_write.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exporters/push/push.h"
#include "exporters/remote_write/remote_write_encode.h"
#include "exporters/remote_write/remote_write_request.h"
#include "exporters/transport/push_status.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/http/http_client.h"

#define JOB "neuron-monitor"
/* Retrying after a timeout is safe: the receiver detects samples that it already has. */
#define TIMEOUT_NS (10 * NTK_NS_PER_SECOND)
#define HEADERS_MAX 32
#define OWN_HEADERS 3
static_assert(HEADERS_MAX + OWN_HEADERS < NTK_PUSH_HEADERS_MAX, "and a NULL");
#define HEADERS_BYTES ((size_t)16 * 1024)

struct ntk_remote_write_target ntk_remote_write_target;

static const struct ntk_opt option_rows[] = {
    { 0, "remote-write", "URL", NTK_OPT_TEXT, &ntk_remote_write_target.url,
      "push metrics to a Prometheus remote-write receiver" },
    { 0, "remote-write-token-file", "FILE", NTK_OPT_TEXT, &ntk_remote_write_target.token_file,
      "read the bearer token from this file, for each request" },
    { 0, "remote-write-password-file", "FILE", NTK_OPT_TEXT, &ntk_remote_write_target.password_file,
      "read user:password for basic authentication from this file, for each request" },
    { 0, "remote-write-headers-file", "FILE", NTK_OPT_TEXT, &ntk_remote_write_target.headers_file,
      "send the headers in this file (Name: value, one per line) with each request" },
    { 0, "remote-write-protocol", "VERSION", NTK_OPT_TEXT, &ntk_remote_write_target.protocol,
      "send messages of remote write 1.0 or 2.0 (default: 2.0, or 1.0 if the receiver does not "
      "accept "
      "it)" },
    { 0, "remote-write-spool", "FOLDER", NTK_OPT_TEXT, &ntk_remote_write_target.spool_folder,
      "keep undelivered data in this folder (default: in memory)" },
    { 0, "remote-write-native-histograms", 0, NTK_OPT_FLAG, &ntk_remote_write_target.has_native,
      "also push latencies as native histograms, if the receiver accepts them" },
    { 0 },
};

static int is_asked(struct ntk_err *err)
{
    const struct ntk_remote_write_target *target = &ntk_remote_write_target;

    const char *lonely = target->token_file      ? "--remote-write-token-file"
                         : target->password_file ? "--remote-write-password-file"
                         : target->headers_file  ? "--remote-write-headers-file"
                         : target->protocol      ? "--remote-write-protocol"
                         : target->spool_folder  ? "--remote-write-spool"
                         : target->has_native    ? "--remote-write-native-histograms"
                                                 : NULL;

    if (!target->url && lonely) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s requires --remote-write", lonely);
    }
    if (target->url && !ntk_push_is_url(target->url)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "--remote-write requires a URL with http:// or https://");
    }
    if (target->protocol && strcmp(target->protocol, "1.0") != 0 &&
        strcmp(target->protocol, "2.0") != 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "invalid value '%.20s' for --remote-write-protocol: expected 1.0 or 2.0",
                           target->protocol);
    }
    if (target->token_file && target->password_file) {
        return ntk_err_set(
            err, -EINVAL, NTK_ERR_NO_OFFSET,
            "--remote-write-token-file and --remote-write-password-file are mutually exclusive");
    }
    return target->url != NULL;
}

struct remote_write {
    char *url;
    char *token_file;    /* NULL if none */
    char *password_file; /* NULL if none */
    uint8_t *headers;    /* content of the file; NULL if none */
    const char *header_rows[HEADERS_MAX];
    size_t header_count;
    char instance[NTK_PUSH_HOST_BYTES];
    struct ntk_remote_write *encoder;
    atomic_bool makes_v1; /* new messages have version 1.0 */

    /* The members below are used by the sending thread. */
    bool is_fixed;       /* version set by the user */
    bool knows_v2;       /* the receiver has accepted a message of 2.0 */
    bool tries_v1;       /* the receiver has rejected this message as 2.0 */
    bool sends_v2;       /* version being sent */
    struct ntk_buf made; /* a message of 2.0 converted to 1.0 */
};

/* -- sending, on the outbox's thread ----------------------------------------------------------- */

static int address(void *ctx, const void *bytes, size_t bytes_count, const char **headers,
                   struct ntk_http_question *question, struct ntk_err *err)
{
    struct remote_write *state = ctx;

    state->sends_v2 = remote_write_is_v2(bytes, bytes_count);
    if (state->sends_v2 && (state->tries_v1 || atomic_load(&state->makes_v1))) {
        ntk_buf_reset(&state->made);
        int ret = remote_write_to_v1(bytes, bytes_count, &state->made, err);
        if (ret < 0) {
            state->tries_v1 = state->tries_v1 && ret != -EBADMSG; /* this message is dropped */
            return ret;
        }
        question->body = state->made.bytes;
        question->body_bytes = state->made.bytes_count;
        state->sends_v2 = false;
    }
    headers[0] = "Content-Encoding: snappy";
    headers[1] = state->sends_v2
                     ? "Content-Type: application/x-protobuf;proto=io.prometheus.write.v2.Request"
                     : "Content-Type: application/x-protobuf";
    headers[2] = state->sends_v2 ? "X-Prometheus-Remote-Write-Version: 2.0.0"
                                 : "X-Prometheus-Remote-Write-Version: 0.1.0";
    for (size_t i = 0; i < state->header_count; i++) {
        headers[OWN_HEADERS + i] = state->header_rows[i];
    }
    question->url = state->url;
    question->timeout_ns = TIMEOUT_NS;
    question->token_file = state->token_file;
    question->password_file = state->password_file;
    question->answer_bytes_max = 64 * 1024;
    return 0;
}

/* Returns the number of samples and histograms that the receiver confirms; false if not stated. */
static bool read_written(const struct ntk_http_answer *answer, uint64_t *out_count)
{
    static const char *const names[] = { "x-prometheus-remote-write-samples-written",
                                         "x-prometheus-remote-write-histograms-written",
                                         "x-prometheus-remote-write-exemplars-written" };
    bool has = false;

    *out_count = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[24];
        if (ntk_http_answer_header_get(answer, names[i], text, sizeof text)) {
            has = true;
            *out_count += i < 2 ? strtoull(text, NULL, 10) : 0;
        }
    }
    return has;
}

/* Returns true for statuses about the message, not about the sender or the address. */
static bool is_about_format(long status)
{
    return status / 100 == 4 && status != 401 && status != 403 && status != 404 && status != 407 &&
           status != 408 && status != 429;
}

/* A receiver of 1.0 that ignores the content type reads an empty message and accepts it. */
static bool refuses_v2(const struct remote_write *state, long status, bool has_written)
{
    if (has_written || state->is_fixed) {
        return false;
    }
    return status / 100 == 2 || status == 415 || (is_about_format(status) && !state->knows_v2);
}

static void judge_v2(struct remote_write *state, const struct ntk_http_answer *answer,
                     uint64_t written, struct ntk_outbox_answer *out_answer)
{
    const char *said = ntk_buf_text_get(&answer->body);

    state->knows_v2 = true;
    ntk_push_status_judge(NTK_PUSH_REMOTE_WRITE, answer, said, out_answer);
    if (out_answer->result == NTK_OUTBOX_RETRY || written >= out_answer->item_count ||
        (out_answer->result == NTK_OUTBOX_REFUSED && !written)) {
        return;
    }
    /* A part was written; the rest is lost. */
    if (out_answer->result == NTK_OUTBOX_SENT) {
        (void)snprintf(out_answer->text, sizeof out_answer->text,
                       "the receiver wrote %" PRIu64 " of %" PRIu64, written,
                       out_answer->item_count);
    }
    out_answer->result = NTK_OUTBOX_SENT;
    out_answer->refused_items = out_answer->item_count - written;
}

static bool judge(void *ctx, const struct ntk_http_answer *answer,
                  struct ntk_outbox_answer *out_answer)
{
    struct remote_write *state = ctx;
    uint64_t written;
    bool has_written = read_written(answer, &written);

    if (state->sends_v2 && refuses_v2(state, answer->status, has_written)) {
        state->tries_v1 = true;
        return true;
    }
    if (state->sends_v2 && has_written) {
        judge_v2(state, answer, written, out_answer);
        return false;
    }
    ntk_push_status_judge(NTK_PUSH_REMOTE_WRITE, answer, ntk_buf_text_get(&answer->body),
                          out_answer);
    if (state->sends_v2 && out_answer->result == NTK_OUTBOX_SENT) {
        out_answer->result = NTK_OUTBOX_REFUSED;
        (void)snprintf(out_answer->text, sizeof out_answer->text,
                       "the receiver does not confirm samples sent as version 2.0");
    }
    /* One response of a proxy or an old replica does not change the known version. */
    if (state->tries_v1 && out_answer->result == NTK_OUTBOX_SENT && !state->knows_v2) {
        ntk_log_info("remote write", "the receiver supports only version 1.0");
        atomic_store(&state->makes_v1, true);
    }
    if (out_answer->result != NTK_OUTBOX_RETRY) {
        state->tries_v1 = false; /* otherwise the same message is sent again in version 1.0 */
    }
    return false;
}

/* -- the exporter ------------------------------------------------------------------------------ */

static int encode(void *ctx, const struct ntk_points_page *page, uint64_t time_ns,
                  ntk_push_emit *emit, void *emit_ctx, struct ntk_err *err)
{
    struct remote_write *state = ctx;

    return ntk_remote_write_encode(state->encoder, page, (int64_t)(time_ns / NTK_NS_PER_MS),
                                   !atomic_load(&state->makes_v1), emit, emit_ctx, err);
}

static void destroy(void *ctx)
{
    struct remote_write *state = ctx;

    ntk_remote_write_destroy(state->encoder);
    free(state->url);
    free(state->token_file);
    free(state->password_file);
    ntk_buf_fini(&state->made);
    free(state->headers);
    free(state);
}

/* Returns true for an HTTP header name, a colon and a value; headers of the protocol cannot be
 * set. */
static bool is_header(const char *line)
{
    static const char letters[] =
        "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t length = strspn(line, letters);

    return length > 0 && line[length] == ':' &&
           line[length + 1 + strspn(line + length + 1, " \t")] &&
           strncasecmp(line, "Content-", 8) != 0 && strncasecmp(line, "Connection:", 11) != 0 &&
           strncasecmp(line, "X-Prometheus-Remote-Write-", 26) != 0 &&
           !ntk_push_header_is_own(line, length);
}

/* Reads headers; skips empty lines and lines that start with #. Values are secret, so error
 * messages do not show them. */
static int read_headers(struct remote_write *state, const char *path, struct ntk_err *err)
{
    size_t count = 0;
    unsigned int line_number = 0;
    int ret = path ? ntk_fs_read(path, HEADERS_BYTES, &state->headers, &count, err) : 0;

    if (ret < 0 || !path) {
        return ret;
    }
    if (strlen((const char *)state->headers) != count) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s: not a text file", path);
    }
    for (char *at = (char *)state->headers, *next; *at; at = next) {
        size_t length = strcspn(at, "\n");

        next = at + length + (at[length] == '\n');
        at[length] = '\0';
        at[strcspn(at, "\r")] = '\0';
        line_number++;
        if (!at[0] || at[0] == '#') {
            continue;
        }
        if (!is_header(at) || state->header_count == HEADERS_MAX) {
            return ntk_err_set(
                err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s: line %u: %s", path, line_number,
                is_header(at)
                    ? "too many headers (at most 32)"
                    : "expected 'Name: value' with a header that the protocol does not set");
        }
        if ((state->token_file || state->password_file) &&
            strncasecmp(at, "Authorization:", 14) == 0) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "%s: line %u: the Authorization header and a token or password file "
                               "are mutually exclusive",
                               path, line_number);
        }
        state->header_rows[state->header_count++] = at;
    }
    return 0;
}

static int create(const struct ntk_exporter_options *options, void **out_state, struct ntk_err *err)
{
    const struct ntk_remote_write_target *target = &ntk_remote_write_target;
    struct remote_write *state;

    state = calloc(1, sizeof *state);
    if (!state) {
        return ntk_err_no_memory(err);
    }
    ntk_push_host_name(state->instance);
    const struct ntk_remote_write_options encoder = { .job = JOB,
                                                      .instance = state->instance,
                                                      .vendor_only = options->vendor_only,
                                                      .has_native = target->has_native };
    state->url = strdup(target->url);
    state->token_file = target->token_file ? strdup(target->token_file) : NULL;
    state->password_file = target->password_file ? strdup(target->password_file) : NULL;
    state->is_fixed = target->protocol != NULL;
    atomic_init(&state->makes_v1, target->protocol && strcmp(target->protocol, "1.0") == 0);
    state->encoder = ntk_remote_write_create(&encoder);
    if (!state->url || !state->encoder || (target->token_file && !state->token_file) ||
        (target->password_file && !state->password_file)) {
        destroy(state);
        return ntk_err_no_memory(err);
    }
    int ret = read_headers(state, target->headers_file, err);
    if (ret < 0) {
        destroy(state);
        return ret;
    }
    const struct ntk_push_peer peer = { .receiver = { .name = "remote write",
                                                      .items = "samples",
                                                      .spool_folder = target->spool_folder,
                                                      .address = address,
                                                      .judge = judge,
                                                      .ctx = state },
                                        .keeps_fine_latencies = target->has_native,
                                        .encode = encode,
                                        .destroy = destroy,
                                        .ctx = state };
    return ntk_push_create(options, &peer, out_state, err);
}

const struct ntk_exporter ntk_exporter_remote_write = {
    .name = "remote-write",
    .options = option_rows,
    .is_asked = is_asked,
    .has_secrets = true,
    .create = create,
    .put = ntk_push_put,
    .resume = ntk_push_resume,
    .drain = ntk_push_drain,
    .destroy = ntk_push_destroy,
};
