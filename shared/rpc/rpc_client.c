/* SPDX-License-Identifier: MIT */
/* rpc_client - makes calls with gRPC's core, and waits for each batch. */
#include "shared/rpc/rpc_client.h"

#include <errno.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shared/rpc/rpc_buffer.h"

struct ntk_rpc_client {
    char *endpoint;
    uint32_t timeout_s;
    grpc_channel *channel;
    grpc_completion_queue *queue;
};

/* A running call, and its results. */
struct call {
    struct ntk_rpc_client *client;
    const char *path;
    grpc_call *call;
    grpc_metadata_array initial, trailing;
    grpc_byte_buffer *received;
    grpc_status_code status;
    grpc_slice details;
    char answer_tag, send_tag;
};

int ntk_rpc_client_create(const char *endpoint, uint32_t timeout_s,
                          struct ntk_rpc_client **out_client, struct ntk_err *err)
{
    /* No size limits, because captures and tensors may have any size. */
    grpc_arg args[] = {
        NTK_RPC_NUMBER(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1),
        NTK_RPC_NUMBER(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1),
        /* The environment's proxies are for the network; the daemon is local. */
        NTK_RPC_NUMBER(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
    };
    grpc_channel_args channel_args = { .num_args = sizeof args / sizeof *args, .args = args };
    struct ntk_rpc_client *client = calloc(1, sizeof *client);
    char *copy = client ? strdup(endpoint) : NULL;

    if (!copy) {
        free(client);
        return ntk_err_no_memory(err);
    }
    grpc_init();
    grpc_channel_credentials *credentials = grpc_insecure_credentials_create();
    client->endpoint = copy;
    client->timeout_s = timeout_s;
    client->channel = grpc_channel_create(endpoint, credentials, &channel_args);
    client->queue = grpc_completion_queue_create_for_pluck(NULL);
    grpc_channel_credentials_release(credentials);
    *out_client = client;
    return 0;
}

void ntk_rpc_client_destroy(struct ntk_rpc_client *client)
{
    if (!client) {
        return;
    }
    grpc_channel_destroy(client->channel);
    grpc_completion_queue_shutdown(client->queue);
    grpc_completion_queue_destroy(client->queue);
    grpc_shutdown();
    free(client->endpoint);
    free(client);
}

/* ---- one call ---- */

static void call_begin(struct call *call, struct ntk_rpc_client *client, const char *path)
{
    grpc_slice method = grpc_slice_from_copied_string(path);
    gpr_timespec deadline =
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                     gpr_time_from_seconds((int64_t)client->timeout_s, GPR_TIMESPAN));

    *call = (struct call){ .client = client, .path = path, .details = grpc_empty_slice() };
    grpc_metadata_array_init(&call->initial);
    grpc_metadata_array_init(&call->trailing);
    call->call = grpc_channel_create_call(client->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
                                          client->queue, method, NULL, deadline, NULL);
    grpc_slice_unref(method);
}

static void call_end(struct call *call)
{
    if (call->received) {
        grpc_byte_buffer_destroy(call->received);
    }
    grpc_metadata_array_destroy(&call->initial);
    grpc_metadata_array_destroy(&call->trailing);
    grpc_slice_unref(call->details);
    grpc_call_unref(call->call);
}

static bool start(struct call *call, const grpc_op *ops, size_t op_count, char *tag)
{
    return grpc_call_start_batch(call->call, ops, op_count, tag, NULL) == GRPC_CALL_OK;
}

/* Waits for a batch; the call's deadline limits the time. */
static bool await(struct call *call, char *tag)
{
    return grpc_completion_queue_pluck(call->client->queue, tag, gpr_inf_future(GPR_CLOCK_REALTIME),
                                       NULL)
               .success != 0;
}

/* Starts to receive the service's response and its final status. */
static bool answer_start(struct call *call)
{
    grpc_op ops[] = { { .op = GRPC_OP_RECV_INITIAL_METADATA },
                      { .op = GRPC_OP_RECV_MESSAGE },
                      { .op = GRPC_OP_RECV_STATUS_ON_CLIENT } };

    ops[0].data.recv_initial_metadata.recv_initial_metadata = &call->initial;
    ops[1].data.recv_message.recv_message = &call->received;
    ops[2].data.recv_status_on_client.trailing_metadata = &call->trailing;
    ops[2].data.recv_status_on_client.status = &call->status;
    ops[2].data.recv_status_on_client.status_details = &call->details;
    return start(call, ops, sizeof ops / sizeof *ops, &call->answer_tag);
}

/* Returns false if the call has ended; its status then has the reason. */
static bool send_one(struct call *call, const ProtobufCMessage *message)
{
    grpc_byte_buffer *buffer = ntk_rpc_buffer_pack(message);
    grpc_op ops[] = { { .op = GRPC_OP_SEND_MESSAGE } };

    ops[0].data.send_message.send_message = buffer;
    bool is_sent = start(call, ops, 1, &call->send_tag) && await(call, &call->send_tag);
    grpc_byte_buffer_destroy(buffer);
    return is_sent;
}

static bool send_simple(struct call *call, grpc_op_type type)
{
    grpc_op ops[] = { { .op = type } };

    return start(call, ops, 1, &call->send_tag) && await(call, &call->send_tag);
}

/* The end of a message is its useful part, as in "failed to connect to all addresses; last error:
 * UNKNOWN: unix:/x: No such file or directory". */
static const char *reason_of(const char *details)
{
    const char *end = details;

    for (const char *at = details; (at = strstr(at, ": ")); at += 2) {
        end = at + 2;
    }
    return end;
}

static int failure_of(const struct call *call, struct ntk_err *err)
{
    const char *endpoint = call->client->endpoint;
    char *details = grpc_slice_to_c_string(call->details);
    int ret;

    switch (call->status) {
    case GRPC_STATUS_UNAVAILABLE:
        ret = ntk_err_set(err, -ECONNREFUSED, NTK_ERR_NO_OFFSET, "no daemon responds at %s: %.200s",
                          endpoint, reason_of(details));
        break;
    case GRPC_STATUS_UNIMPLEMENTED:
        ret = ntk_err_set(err, -ENOSYS, NTK_ERR_NO_OFFSET, "the daemon at %s does not serve %s",
                          endpoint, call->path);
        break;
    case GRPC_STATUS_DEADLINE_EXCEEDED:
        ret = ntk_err_set(err, -ETIMEDOUT, NTK_ERR_NO_OFFSET,
                          "the daemon at %s did not respond within %u s", endpoint,
                          call->client->timeout_s);
        break;
    default:
        ret = ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET, "%s at %s: gRPC status %d: %.200s",
                          call->path, endpoint, (int)call->status, details);
    }
    gpr_free(details);
    return ret;
}

/* Receives the response after the last request was sent. */
static int answer_take(struct call *call, const ProtobufCMessageDescriptor *type,
                       ProtobufCMessage **out_reply, struct ntk_err *err)
{
    (void)await(call, &call->answer_tag);
    if (call->status != GRPC_STATUS_OK) {
        return failure_of(call, err);
    }
    if (!call->received ||
        ntk_rpc_buffer_unpack(type, call->received, out_reply) != NTK_RPC_MESSAGE_GOOD) {
        return ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET, "%s at %s: invalid response message",
                           call->path, call->client->endpoint);
    }
    return 0;
}

/* ---- calls ---- */

struct single {
    const ProtobufCMessage *request; /* next request; NULL after it was sent */
};

static const ProtobufCMessage *single_next(void *ctx, int *out_ret, struct ntk_err *err)
{
    struct single *single = ctx;
    const ProtobufCMessage *request = single->request;

    (void)out_ret;
    (void)err;
    single->request = NULL;
    return request;
}

int ntk_rpc_client_stream(struct ntk_rpc_client *client, const char *path,
                          ntk_rpc_client_next *next, void *ctx,
                          const ProtobufCMessageDescriptor *type, ProtobufCMessage **out_reply,
                          struct ntk_err *err)
{
    const ProtobufCMessage *request;
    struct call call;
    int ret = 0;

    call_begin(&call, client, path);
    bool is_open = answer_start(&call);
    bool continues = is_open && send_simple(&call, GRPC_OP_SEND_INITIAL_METADATA);
    while (continues && (request = next(ctx, &ret, err))) {
        continues = send_one(&call, request);
    }
    if (ret < 0) {
        (void)grpc_call_cancel(call.call, NULL);
        (void)await(&call, &call.answer_tag);
    } else if (!is_open) {
        ret = ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET, "%s at %s cannot be called", path,
                          client->endpoint);
    } else {
        if (continues) {
            (void)send_simple(&call, GRPC_OP_SEND_CLOSE_FROM_CLIENT);
        }
        ret = answer_take(&call, type, out_reply, err);
    }
    call_end(&call);
    return ret;
}

int ntk_rpc_client_call(struct ntk_rpc_client *client, const char *path,
                        const ProtobufCMessage *request, const ProtobufCMessageDescriptor *type,
                        ProtobufCMessage **out_reply, struct ntk_err *err)
{
    int ret = -ECONNREFUSED;

    for (int attempt = 0; attempt < 2 && ret == -ECONNREFUSED; attempt++) {
        struct single single = { request };

        ret = ntk_rpc_client_stream(client, path, single_next, &single, type, out_reply, err);
    }
    return ret;
}
