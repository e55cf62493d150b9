/* SPDX-License-Identifier: MIT */
/* gRPC's core without any work: one thread, one completion queue, the same bytes for every call. */
#include "tests/bench/grpc_echo.h"

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <stdlib.h>

enum step { STEP_ACCEPT, STEP_READ, STEP_ANSWER };

struct one {
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array metadata;
    grpc_byte_buffer *read;
    int was_cancelled;
    enum step step;
};

static grpc_server *server;
static grpc_completion_queue *queue;

static void accept_next(void)
{
    struct one *one = calloc(1, sizeof *one);

    if (!one) {
        abort();
    }
    grpc_call_details_init(&one->details);
    grpc_metadata_array_init(&one->metadata);
    (void)grpc_server_request_call(server, &one->call, &one->details, &one->metadata, queue, queue,
                                   one);
}

static void read_message(struct one *one)
{
    grpc_op ops[1] = { { .op = GRPC_OP_RECV_MESSAGE } };

    ops[0].data.recv_message.recv_message = &one->read;
    one->step = STEP_READ;
    (void)grpc_call_start_batch(one->call, ops, 1, one, NULL);
}

static void answer(struct one *one, const void *bytes, size_t bytes_count)
{
    grpc_slice slice = grpc_slice_from_copied_buffer(bytes, bytes_count);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_op ops[4] = { { .op = GRPC_OP_SEND_INITIAL_METADATA },
                       { .op = GRPC_OP_SEND_MESSAGE },
                       { .op = GRPC_OP_SEND_STATUS_FROM_SERVER },
                       { .op = GRPC_OP_RECV_CLOSE_ON_SERVER } };

    ops[1].data.send_message.send_message = buffer;
    ops[2].data.send_status_from_server.status = GRPC_STATUS_OK;
    ops[3].data.recv_close_on_server.cancelled = &one->was_cancelled;
    one->step = STEP_ANSWER;
    (void)grpc_call_start_batch(one->call, ops, 4, one, NULL);
    grpc_byte_buffer_destroy(buffer);
    grpc_slice_unref(slice);
}

static void end(struct one *one)
{
    grpc_byte_buffer_destroy(one->read);
    grpc_metadata_array_destroy(&one->metadata);
    grpc_call_details_destroy(&one->details);
    grpc_call_unref(one->call);
    free(one);
}

void grpc_echo_run(const char *endpoint, const void *bytes, size_t bytes_count)
{
    grpc_init();
    server = grpc_server_create(NULL, NULL);
    queue = grpc_completion_queue_create_for_next(NULL);
    grpc_server_register_completion_queue(server, queue, NULL);
    grpc_server_credentials *credentials = grpc_insecure_server_credentials_create();
    if (grpc_server_add_http2_port(server, endpoint, credentials) == 0) {
        abort();
    }
    grpc_server_credentials_release(credentials);
    grpc_server_start(server);
    accept_next();
    for (;;) {
        grpc_event event =
            grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
        struct one *one = event.tag;

        switch (one->step) {
        case STEP_ACCEPT:
            accept_next();
            read_message(one);
            break;
        case STEP_READ:
            answer(one, bytes, bytes_count);
            break;
        case STEP_ANSWER:
            end(one);
            break;
        }
    }
}
