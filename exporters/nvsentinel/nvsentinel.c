/* SPDX-License-Identifier: MIT */
/*
 * nvsentinel - sends changes of health to the platform connector of NVSentinel on this node, in
 * order, over gRPC on its Unix socket, and retries until accepted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/exporter.h"
#include "exporters/nvsentinel/health_events.h"
#include "exporters/transport/grpc_call.h"
#include "exporters/transport/outbox.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "shared/http/http_client.h"

#define SOCKET_DEFAULT "/var/run/nvsentinel/platform-connector.sock"
#define METHOD_URL "http://localhost/datamodels.PlatformConnector/HealthEventOccurredV1"
#define TIMEOUT_NS (10 * NTK_NS_PER_SECOND)
#define NODE_BYTES 254

static const char *arg_socket;
static const char *arg_node;
static bool arg_store_only;

static const struct ntk_opt option_rows[] = {
    { 0, "nvsentinel", "[=SOCKET]", NTK_OPT_TEXT, &arg_socket,
      "report changes of device health to NVSentinel on this Unix socket (default " SOCKET_DEFAULT
      ")" },
    { 0, "nvsentinel-node", "NAME", NTK_OPT_TEXT, &arg_node,
      "report for this node (default: the environment variable NODE_NAME)" },
    { 0, "nvsentinel-store-only", 0, NTK_OPT_FLAG, &arg_store_only,
      "ask NVSentinel to store these events without acting on them" },
    { 0 },
};

struct nvsentinel {
    char *socket;
    char node[NODE_BYTES];
    struct ntk_health_events said;
    uint64_t delayed_count; /* number of events that could not be put */
    struct ntk_http_client *client;
    struct ntk_outbox *outbox;
    /* The members below are used by the sending thread. */
    struct ntk_http_answer answer;
    struct ntk_buf framed;
};

static const char *node_get(void)
{
    return arg_node ? arg_node : getenv("NODE_NAME");
}

static bool is_node(const char *name)
{
    return name && name[0] && strlen(name) < NODE_BYTES;
}

static int is_asked(struct ntk_err *err)
{
    if (!arg_socket && (arg_node || arg_store_only)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s requires --nvsentinel",
                           arg_node ? "--nvsentinel-node" : "--nvsentinel-store-only");
    }
    if (arg_socket && !is_node(node_get())) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "unknown node name: use --nvsentinel-node or set NODE_NAME");
    }
    return arg_socket != NULL;
}

static void send_message(void *ctx, const void *bytes, size_t bytes_count,
                         struct ntk_outbox_answer *answer)
{
    static const char *const headers[] = { "Content-Type: application/grpc", "TE: trailers", NULL };
    struct nvsentinel *state = ctx;
    struct ntk_err err = { 0 };

    answer->result = NTK_OUTBOX_RETRY;
    ntk_buf_reset(&state->framed);
    if (ntk_grpc_frame(bytes, bytes_count, false, &state->framed) < 0) {
        ntk_str_copy(answer->text, sizeof answer->text, "out of memory");
        return;
    }
    const struct ntk_http_question question = { .url = METHOD_URL,
                                                .headers = headers,
                                                .body = state->framed.bytes,
                                                .body_bytes = state->framed.bytes_count,
                                                .timeout_ns = TIMEOUT_NS,
                                                .answer_bytes_max = 64 * 1024,
                                                .unix_socket_path = state->socket,
                                                .http2 = true };
    if (ntk_http_client_ask(state->client, &question, &state->answer, &err) < 0) {
        (void)snprintf(answer->text, sizeof answer->text, "%.250s", err.text);
        return;
    }
    ntk_grpc_judge(&state->answer, answer);
    /* A verdict is only sent once. If it were dropped, a broken node would never be cordoned. */
    if (answer->result == NTK_OUTBOX_REFUSED && !ntk_grpc_is_invalid(&state->answer)) {
        answer->result = NTK_OUTBOX_RETRY;
    }
}

static void cancel(void *ctx)
{
    struct nvsentinel *state = ctx;

    ntk_http_client_cancel(state->client);
}

static void destroy(void *ctx)
{
    struct nvsentinel *state = ctx;

    if (!state) {
        return;
    }
    ntk_outbox_destroy(state->outbox);
    ntk_http_client_destroy(state->client);
    ntk_http_answer_fini(&state->answer);
    ntk_buf_fini(&state->framed);
    free(state->socket);
    free(state);
}

static int create(const struct ntk_exporter_options *options, void **out_state, struct ntk_err *err)
{
    struct nvsentinel *state = calloc(1, sizeof *state);
    const char *node = node_get();
    int ret = 0;

    if (!state) {
        return ntk_err_no_memory(err);
    }
    const struct ntk_outbox_options outbox = { .name = "nvsentinel",
                                               .items = "events",
                                               .send = send_message,
                                               .cancel = cancel,
                                               .ctx = state,
                                               .clock = options->clock,
                                               .puts_again = true };
    state->socket = strdup(arg_socket[0] ? arg_socket : SOCKET_DEFAULT);
    state->client = ntk_http_client_create();
    if (!state->socket || !state->client) {
        ret = ntk_err_no_memory(err);
    } else {
        ntk_str_copy_clean(state->node, sizeof state->node, node, strlen(node));
        ret = ntk_outbox_create(&outbox, &state->outbox, err);
    }
    if (ret < 0) {
        destroy(state);
        return ret;
    }
    *out_state = state;
    return 0;
}

static int put(void *ctx, const struct ntk_snapshot *snapshot, struct ntk_err *err)
{
    struct nvsentinel *state = ctx;
    const struct ntk_health_events_options options = { .node = state->node,
                                                       .is_store_only = arg_store_only };
    const struct ntk_health_events before = state->said;
    struct ntk_buf message = { 0 };
    unsigned count = ntk_health_events_make(&state->said, &options, snapshot,
                                            ntk_snapshot_time_ns(snapshot), &message);
    int ret = count > 0 ? ntk_outbox_put(state->outbox, &message, count, err) : 0;

    ntk_buf_fini(&message);
    if (ret < 0) {
        state->said = before;
        state->delayed_count = count;
    } else {
        /* Some changes may have been undone meanwhile. */
        ntk_outbox_give_up(state->outbox,
                           state->delayed_count > count ? state->delayed_count - count : 0);
        state->delayed_count = 0;
    }
    return ret;
}

static int drain(void *ctx, bool in_haste, struct ntk_err *err)
{
    struct nvsentinel *state = ctx;

    ntk_outbox_give_up(state->outbox, state->delayed_count);
    state->delayed_count = 0;
    return ntk_outbox_drain(state->outbox, in_haste, err);
}

const struct ntk_exporter ntk_exporter_nvsentinel = {
    .name = "nvsentinel",
    .options = option_rows,
    .is_asked = is_asked,
    .create = create,
    .put = put,
    .drain = drain,
    .destroy = destroy,
};
