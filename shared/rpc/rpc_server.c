/* SPDX-License-Identifier: MIT */
/* rpc_server - runs gRPC batches: accept, read, write and the end of each call. */
#include "shared/rpc/rpc_server.h"

#include <grpc/byte_buffer.h>
#include <grpc/compression.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shared/rpc/rpc_buffer.h"
#include "shared/rpc/rpc_listen.h"
#include "shared/rpc/rpc_loop.h"

enum event { EVENT_ACCEPT, EVENT_READ, EVENT_GREET, EVENT_SEND, EVENT_FINISH, EVENT_CLOSE, EVENTS };

/* Tag of an operation in the completion queue. */
struct tag {
    struct ntk_rpc_call *call;
    enum event event;
};

/* Accepts the next call of a method that takes one message, together with this message; or the next
 * call of any other path. */
struct door {
    struct ntk_rpc_server *server;
    const struct ntk_rpc_method *method; /* NULL: any other path */
    void *registered;
    bool is_deaf; /* was out of memory when it tried to accept the next call */
};

struct ntk_rpc_server {
    grpc_server *server;
    grpc_completion_queue *queue;
    const struct ntk_rpc_method *methods;
    void *ctx;
    bool has_deaf; /* one of the doors */
    struct tag shut;
    struct ntk_rpc_loop loop;
    size_t door_count;
    struct door doors[];
};

struct ntk_rpc_call {
    struct ntk_rpc_server *server;
    struct door *door;
    grpc_call *call;
    gpr_timespec deadline;
    grpc_call_details details;
    grpc_metadata_array metadata;
    const struct ntk_rpc_method *method;
    void *own;
    uint64_t note;
    grpc_byte_buffer *read; /* received data */
    int was_cancelled;
    struct tag tags[EVENTS];
    int outstanding;          /* batches in progress; all except writes are counted in the loop */
    atomic_bool awaits_close; /* the batch that waits for the end of the call was started */
    uint64_t turn;            /* of the loop, if the callback may linger; else 0 */
    bool is_gone;
    bool has_message;
};

void *ntk_rpc_call_ctx_get(const struct ntk_rpc_call *call)
{
    return call->server->ctx;
}

const struct ntk_rpc_method *ntk_rpc_call_method_get(const struct ntk_rpc_call *call)
{
    return call->method;
}

void *ntk_rpc_call_own_get(const struct ntk_rpc_call *call)
{
    return call->own;
}

void ntk_rpc_call_own_set(struct ntk_rpc_call *call, void *own)
{
    call->own = own;
}

uint64_t ntk_rpc_call_note_get(const struct ntk_rpc_call *call)
{
    return call->note;
}

void ntk_rpc_call_note_set(struct ntk_rpc_call *call, uint64_t note)
{
    call->note = note;
}

bool ntk_rpc_call_is_lost(const struct ntk_rpc_call *call)
{
    return call->was_cancelled != 0;
}

/* ---- batches ---- */

static void call_destroy(struct ntk_rpc_call *call)
{
    if (call->call) {
        grpc_call_unref(call->call);
    }
    if (call->read) {
        grpc_byte_buffer_destroy(call->read);
    }
    grpc_metadata_array_destroy(&call->metadata);
    grpc_call_details_destroy(&call->details);
    free(call);
}

/* Starts a batch. Returns false if gRPC rejects it; then no event follows. */
static bool start(struct ntk_rpc_call *call, enum event event, const grpc_op *ops, size_t op_count)
{
    __atomic_fetch_add(&call->outstanding, 1, __ATOMIC_RELAXED);
    if (grpc_call_start_batch(call->call, ops, op_count, &call->tags[event], NULL) ==
        GRPC_CALL_OK) {
        return true;
    }
    __atomic_fetch_sub(&call->outstanding, 1, __ATOMIC_RELAXED);
    return false;
}

static void accept_next(struct door *door)
{
    struct ntk_rpc_server *server = door->server;
    struct ntk_rpc_call *call = calloc(1, sizeof *call);

    door->is_deaf = !call;
    server->has_deaf = server->has_deaf || !call;
    if (!call) {
        return;
    }
    call->server = server;
    call->door = door;
    grpc_call_details_init(&call->details);
    grpc_metadata_array_init(&call->metadata);
    for (int i = 0; i < EVENTS; i++) {
        call->tags[i] = (struct tag){ call, (enum event)i };
    }
    call->outstanding = 1;
    void *tag = &call->tags[EVENT_ACCEPT];
    grpc_call_error error =
        door->method
            ? grpc_server_request_registered_call(server->server, door->registered, &call->call,
                                                  &call->deadline, &call->metadata, &call->read,
                                                  server->queue, server->queue, tag)
            : grpc_server_request_call(server->server, &call->call, &call->details, &call->metadata,
                                       server->queue, server->queue, tag);
    if (error != GRPC_CALL_OK) {
        call_destroy(call);
    }
}

/* Tries again what failed without memory. */
static void doors_open(struct ntk_rpc_server *server)
{
    server->has_deaf = false;
    for (size_t i = 0; i < server->door_count; i++) {
        if (server->doors[i].is_deaf) {
            accept_next(&server->doors[i]);
        }
    }
}

/* Waits for the end of the call, once. */
static void close_await(struct ntk_rpc_call *call)
{
    grpc_op close = { .op = GRPC_OP_RECV_CLOSE_ON_SERVER };

    if (!atomic_exchange(&call->awaits_close, true)) {
        close.data.recv_close_on_server.cancelled = &call->was_cancelled;
        (void)start(call, EVENT_CLOSE, &close, 1);
    }
}

static void read_next(struct ntk_rpc_call *call)
{
    grpc_op ops[1] = { { .op = GRPC_OP_RECV_MESSAGE } };

    ops[0].data.recv_message.recv_message = &call->read;
    (void)start(call, EVENT_READ, ops, 1);
}

void ntk_rpc_call_read(struct ntk_rpc_call *call)
{
    read_next(call);
}

static void send_message(struct ntk_rpc_call *call, const ProtobufCMessage *message,
                         enum event event)
{
    grpc_byte_buffer *buffer = ntk_rpc_buffer_pack(message);
    grpc_op ops[2] = { { .op = GRPC_OP_SEND_MESSAGE }, { .op = GRPC_OP_SEND_INITIAL_METADATA } };
    size_t op_count = call->has_message ? 1 : 2;

    ops[0].data.send_message.send_message = buffer;
    call->has_message = true;
    (void)start(call, event, ops, op_count);
    grpc_byte_buffer_destroy(buffer);
}

void ntk_rpc_call_greet(struct ntk_rpc_call *call, const ProtobufCMessage *message)
{
    send_message(call, message, EVENT_GREET); /* a read is already in progress */
}

void ntk_rpc_call_send(struct ntk_rpc_call *call, const ProtobufCMessage *message)
{
    send_message(call, message, EVENT_SEND);
}

void ntk_rpc_call_finish(struct ntk_rpc_call *call, const ProtobufCMessage *message,
                         enum ntk_rpc_status status, const char *text)
{
    grpc_byte_buffer *buffer = message ? ntk_rpc_buffer_pack(message) : NULL;
    grpc_slice details = grpc_slice_from_copied_string(text ? text : "");
    grpc_op ops[4] = { { .op = GRPC_OP_SEND_STATUS_FROM_SERVER } };
    size_t op_count = 1;
    /* The end of the call follows the answer, so one event can report both. */
    bool ends = !atomic_exchange(&call->awaits_close, true);

    ops[0].data.send_status_from_server.status = (grpc_status_code)status;
    ops[0].data.send_status_from_server.status_details = text ? &details : NULL;
    if (!call->has_message) {
        ops[op_count++].op = GRPC_OP_SEND_INITIAL_METADATA;
    }
    if (buffer) {
        ops[op_count].op = GRPC_OP_SEND_MESSAGE;
        ops[op_count++].data.send_message.send_message = buffer;
    }
    if (ends) {
        ops[op_count].op = GRPC_OP_RECV_CLOSE_ON_SERVER;
        ops[op_count++].data.recv_close_on_server.cancelled = &call->was_cancelled;
    }
    if (!start(call, ends ? EVENT_CLOSE : EVENT_FINISH, ops, op_count) && ends) {
        atomic_store(&call->awaits_close, false);
        close_await(call);
    }
    grpc_slice_unref(details);
    if (buffer) {
        grpc_byte_buffer_destroy(buffer);
    }
}

/* ---- events ---- */

static const struct ntk_rpc_method *method_find(const struct ntk_rpc_server *server,
                                                grpc_slice path)
{
    for (const struct ntk_rpc_method *method = server->methods; method->path; method++) {
        if (grpc_slice_str_cmp(path, method->path) == 0) {
            return method;
        }
    }
    return NULL;
}

/* Delivers a message; an invalid message is answered here. */
static bool deliver(struct ntk_rpc_call *call)
{
    const ProtobufCMessageDescriptor *type = call->method->request;
    ProtobufCMessage *message = NULL;
    bool wants_more = false;

    enum ntk_rpc_fault fault = ntk_rpc_buffer_unpack(type, call->read, &message);
    grpc_byte_buffer_destroy(call->read);
    call->read = NULL;
    if (fault == NTK_RPC_MESSAGE_BROKEN) {
        ntk_rpc_call_finish(call, NULL, NTK_RPC_INTERNAL, "invalid request message");
    } else if (fault == NTK_RPC_MESSAGE_NUL && call->method->refused) {
        call->method->refused(call, "a string in the request contains a NUL");
    } else {
        wants_more = call->method->message && call->method->message(call, message);
    }
    if (message) {
        protobuf_c_message_free_unpacked(message, NULL);
    }
    return wants_more;
}

static void handle_read(struct ntk_rpc_call *call)
{
    if (call->is_gone || !call->method) {
        return;
    }
    if (!call->read) { /* the client closed its side, or the call was cancelled */
        if (call->method->ended) {
            call->method->ended(call);
        } else if (!call->method->takes_streams) {
            ntk_rpc_call_finish(call, NULL, NTK_RPC_INTERNAL, "the request has no message");
        }
        return;
    }
    if (deliver(call)) {
        read_next(call);
    }
}

static void handle_accept(struct ntk_rpc_call *call)
{
    call->method = call->door->method;
    if (call->method) { /* its message is here: it can be answered before anything else is done */
        handle_read(call);
        return;
    }
    accept_next(call->door);
    close_await(call);
    call->method = method_find(call->server, call->details.method);
    if (!call->method) {
        ntk_rpc_call_finish(call, NULL, NTK_RPC_UNIMPLEMENTED, "unknown method");
        return;
    }
    if (call->method->opened) {
        call->method->opened(call);
    }
    read_next(call);
}

/* Does what can wait until a call was answered: accepts the next one, and notices when the client
 * leaves. */
static void carry_on(struct ntk_rpc_call *call)
{
    accept_next(call->door);
    close_await(call);
}

static void handle_close(struct ntk_rpc_call *call)
{
    call->is_gone = true;
    if (call->method && call->method->gone) {
        call->method->gone(call);
    }
}

/* Returns false if another thread has taken over the loop meanwhile. */
static bool handle(struct tag *tag, bool is_good)
{
    struct ntk_rpc_call *call = tag->call;

    switch (tag->event) {
    case EVENT_ACCEPT:
        if (is_good) {
            handle_accept(call);
        }
        break;
    case EVENT_READ:
        handle_read(call);
        break;
    case EVENT_SEND:
        if (is_good && !call->is_gone && call->method->sent) {
            call->method->sent(call);
        } else if (is_good && !call->is_gone) {
            read_next(call);
        }
        break;
    case EVENT_CLOSE:
        handle_close(call);
        break;
    default:
        break;
    }
    struct ntk_rpc_server *server = call->server;
    bool leads = true;
    if (tag->event == EVENT_ACCEPT && is_good && call->door->method) {
        leads = call->turn == 0 || ntk_rpc_loop_returned(&server->loop, call->turn);
        if (leads) {
            carry_on(call);
        }
    }
    if (__atomic_sub_fetch(&call->outstanding, 1, __ATOMIC_ACQ_REL) == 0) {
        call_destroy(call);
    }
    if (leads && server->has_deaf) {
        doors_open(server);
    }
    return leads;
}

/* ---- the server ---- */

/* gRPC's core can accept a call together with its only message, which saves an event. */
static bool takes_one(const struct ntk_rpc_method *method)
{
    return !method->takes_streams && !method->opened;
}

bool ntk_rpc_call_may_linger(struct ntk_rpc_call *call)
{
    call->turn = ntk_rpc_loop_may_linger(&call->server->loop, call);
    return call->turn != 0;
}

static void taken(void *ctx, void *late)
{
    (void)ctx;
    carry_on(late);
}

static bool lead(void *ctx)
{
    struct ntk_rpc_server *server = ctx;

    for (;;) {
        grpc_event event =
            grpc_completion_queue_next(server->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);

        if (event.type == GRPC_QUEUE_SHUTDOWN) {
            return true;
        }
        if (event.tag == &server->shut) {
            grpc_completion_queue_shutdown(server->queue);
        } else if (!handle(event.tag, event.success != 0)) {
            return false;
        }
    }
}

static struct ntk_rpc_server *server_alloc(const struct ntk_rpc_method *methods)
{
    size_t door_count = 1;

    for (const struct ntk_rpc_method *method = methods; method->path; method++) {
        door_count += takes_one(method) ? 1 : 0;
    }
    struct ntk_rpc_server *server =
        calloc(1, sizeof *server + door_count * sizeof server->doors[0]);
    if (server) {
        server->methods = methods;
        server->door_count = door_count;
    }
    return server;
}

static void doors_make(struct ntk_rpc_server *server)
{
    struct door *door = server->doors;

    door->server = server;
    for (const struct ntk_rpc_method *method = server->methods; method->path; method++) {
        if (takes_one(method)) {
            *++door = (struct door){ .server = server, .method = method };
            door->registered = grpc_server_register_method(
                server->server, method->path, NULL, GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER, 0);
        }
    }
}

static void drop_log(gpr_log_func_args *args)
{
    (void)args;
}

int ntk_rpc_server_create(const char *endpoint, const struct ntk_rpc_method *methods, void *ctx,
                          struct ntk_rpc_server **out_server, struct ntk_err *err)
{
    /* Tensors may have any size, and clients may ping at any rate. Two daemons must not share a
     * port. Compressed messages are rejected, because their size is unknown in advance. */
    grpc_arg args[] = {
        NTK_RPC_NUMBER(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1),
        NTK_RPC_NUMBER(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1),
        NTK_RPC_NUMBER(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0),
        NTK_RPC_NUMBER(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 0),
        NTK_RPC_NUMBER(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
        NTK_RPC_NUMBER(GRPC_ARG_ALLOW_REUSEPORT, 0),
        NTK_RPC_NUMBER(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE),
    };
    grpc_channel_args channel_args = { .num_args = sizeof args / sizeof *args, .args = args };
    int ret = ntk_rpc_listen_check(endpoint, err);
    struct ntk_rpc_server *server = ret == 0 ? server_alloc(methods) : NULL;

    if (!server) {
        return ret < 0 ? ret : ntk_err_no_memory(err);
    }
    grpc_init();
    server->ctx = ctx;
    ntk_rpc_loop_init(&server->loop, lead, taken, server);
    server->server = grpc_server_create(&channel_args, NULL);
    doors_make(server);
    server->queue = grpc_completion_queue_create_for_next(NULL);
    grpc_server_register_completion_queue(server->server, server->queue, NULL);
    grpc_server_credentials *credentials = grpc_insecure_server_credentials_create();
    gpr_set_log_function(drop_log); /* ntk_rpc_listen_why() provides the message */
    int port = grpc_server_add_http2_port(server->server, endpoint, credentials);
    gpr_set_log_function(NULL);
    grpc_server_credentials_release(credentials);
    grpc_server_start(server->server);
    if (port == 0) {
        ntk_rpc_server_stop(server);
        ntk_rpc_server_run(server);
        ntk_rpc_server_destroy(server);
        return ntk_rpc_listen_why(endpoint, err);
    }
    for (size_t i = 0; i < server->door_count; i++) {
        accept_next(&server->doors[i]);
    }
    *out_server = server;
    return 0;
}

void ntk_rpc_server_run(struct ntk_rpc_server *server)
{
    ntk_rpc_loop_run(&server->loop);
}

void ntk_rpc_server_stop(struct ntk_rpc_server *server)
{
    grpc_server_shutdown_and_notify(server->server, server->queue, &server->shut);
    grpc_server_cancel_all_calls(server->server);
}

void ntk_rpc_server_destroy(struct ntk_rpc_server *server)
{
    if (!server) {
        return;
    }
    grpc_server_destroy(server->server);
    grpc_completion_queue_destroy(server->queue);
    grpc_shutdown();
    ntk_rpc_loop_fini(&server->loop);
    free(server);
}
