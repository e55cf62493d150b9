/* SPDX-License-Identifier: MIT */
/* Method: a server of rpc_server.h in a thread of the test answers as each case requires. */
#include "shared/rpc/rpc_client.h"

#include <errno.h>
#include <grpc/grpc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shared/rpc/proto/nmgr.pb-c.h"
#include "shared/rpc/rpc_endpoint.h"
#include "shared/rpc/rpc_server.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define PIECES 9

struct fixture {
    char *folder, *endpoint;
    struct ntk_rpc_server *server;
    pthread_t thread;
    /* what the server received; read after its call was answered */
    _Atomic uint64_t heard_bytes;
    _Atomic unsigned heard_pieces;
    unsigned calls;
    sem_t other_was_called;
};

/* Twice the requested number. */
static bool doubled(struct ntk_rpc_call *call, const ProtobufCMessage *message)
{
    Nrt__CreateEgResponse reply = NRT__CREATE_EG_RESPONSE__INIT;
    struct fixture *f = ntk_rpc_call_ctx_get(call);

    f->calls++;
    sem_post(&f->other_was_called);
    reply.nc_count = ((const Nrt__CreateEgRequest *)message)->nc_count * 2;
    ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    return false;
}

/* Answers 1 after another call was served meanwhile; 0 if it cannot. */
static bool lingering(struct ntk_rpc_call *call, const ProtobufCMessage *message)
{
    Nrt__CreateEgResponse reply = NRT__CREATE_EG_RESPONSE__INIT;
    struct fixture *f = ntk_rpc_call_ctx_get(call);

    (void)message;
    reply.nc_count = ntk_rpc_call_may_linger(call) ? 1 : 0;
    while (sem_trywait(&f->other_was_called) == 0) { /* earlier calls */
    }
    while (reply.nc_count == 1 && sem_wait(&f->other_was_called) != 0) {
    }
    ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    return false;
}

static bool forgotten(struct ntk_rpc_call *call, const ProtobufCMessage *message)
{
    (void)call;
    (void)message;
    return false;
}

/* Not the message that the client expects: its field 1 is not a message there. */
static bool mistaken(struct ntk_rpc_call *call, const ProtobufCMessage *message)
{
    Nrt__CreateEgRequest reply = NRT__CREATE_EG_REQUEST__INIT;

    (void)message;
    reply.nc_count = 7;
    ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    return false;
}

static bool failing(struct ntk_rpc_call *call, const ProtobufCMessage *message)
{
    (void)message;
    ntk_rpc_call_finish(call, NULL, NTK_RPC_INTERNAL, "it\nbroke");
    return false;
}

static bool piece(struct ntk_rpc_call *call, const ProtobufCMessage *message)
{
    const Nrt__LoadRequest *asked = (const void *)message;
    struct fixture *f = ntk_rpc_call_ctx_get(call);

    f->heard_pieces++;
    f->heard_bytes += asked->content_case == NRT__LOAD_REQUEST__CONTENT_NEFF_CHUNK
                          ? asked->neff_chunk->chunk.len
                          : 0;
    return true;
}

static void pieces_end(struct ntk_rpc_call *call)
{
    Nrt__LoadResponse reply = NRT__LOAD_RESPONSE__INIT;
    Nrt__HNn handle = NRT__H_NN__INIT;

    handle.id = 10001;
    reply.h_nn = &handle;
    ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
}

static bool piece_refused(struct ntk_rpc_call *call, const ProtobufCMessage *message)
{
    Nrt__LoadResponse reply = NRT__LOAD_RESPONSE__INIT;
    Nrt__Status status = NRT__STATUS__INIT;

    (void)message;
    status.code = NRT__NERR__NERR_INVALID;
    reply.status = &status;
    ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    return false;
}

#define UNARY(path_text, handler)                                            \
    {                                                                        \
        .path = (path_text), .request = &nrt__create_eg_request__descriptor, \
        .reply = &nrt__create_eg_response__descriptor, .message = (handler)  \
    }
#define STREAM(path_text, handler, end)                                                        \
    {                                                                                          \
        .path = (path_text), .takes_streams = true, .request = &nrt__load_request__descriptor, \
        .reply = &nrt__load_response__descriptor, .message = (handler), .ended = (end)         \
    }

static const struct ntk_rpc_method methods[] = {
    UNARY("/t/doubled", doubled),
    UNARY("/t/lingering", lingering),
    UNARY("/t/forgotten", forgotten),
    UNARY("/t/mistaken", mistaken),
    UNARY("/t/failing", failing),
    STREAM("/t/pieces", piece, pieces_end),
    STREAM("/t/refused", piece_refused, NULL),
    { 0 },
};

static void *serve(void *ctx)
{
    ntk_rpc_server_run(ctx);
    return NULL;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct ntk_err err = { 0 };
    char *path;

    assert_non_null(f);
    sem_init(&f->other_was_called, 0, 0);
    f->folder = test_scratch_create();
    path = test_scratch_path(f->folder, "socket");
    f->endpoint = ntk_rpc_endpoint_make(path);
    free(path);
    assert_int_equal(ntk_rpc_server_create(f->endpoint, methods, f, &f->server, &err), 0);
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f->server), 0);
    *state = f;
    return 0;
}

static void server_end(struct fixture *f)
{
    if (f->server) {
        ntk_rpc_server_stop(f->server);
        pthread_join(f->thread, NULL);
        ntk_rpc_server_destroy(f->server);
        f->server = NULL;
    }
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    server_end(f);
    sem_destroy(&f->other_was_called);
    test_scratch_destroy(f->folder);
    free(f->endpoint);
    free(f);
    return 0;
}

static int ask(struct ntk_rpc_client *client, const char *path, uint32_t number,
               uint32_t *out_number, struct ntk_err *err)
{
    Nrt__CreateEgRequest request = NRT__CREATE_EG_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;

    request.nc_count = number;
    int ret = ntk_rpc_client_call(client, path, &request.base, &nrt__create_eg_response__descriptor,
                                  &reply, err);
    if (ret == 0) {
        *out_number = ((Nrt__CreateEgResponse *)reply)->nc_count;
        protobuf_c_message_free_unpacked(reply, NULL);
    } else {
        assert_null(reply);
        assert_int_equal(err->code, ret);
    }
    return ret;
}

static struct ntk_rpc_client *client_of(const struct fixture *f, uint32_t timeout_s)
{
    struct ntk_rpc_client *client = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_rpc_client_create(f->endpoint, timeout_s, &client, &err), 0);
    return client;
}

static void an_rpc_call_returns_the_response_of_the_server(void **state)
{
    struct fixture *f = *state;
    struct ntk_rpc_client *client = client_of(f, 30);
    struct ntk_err err = { 0 };
    uint32_t answer = 0;

    for (uint32_t i = 1; i < 50; i++) {
        assert_int_equal(ask(client, "/t/doubled", i, &answer, &err), 0);
        assert_int_equal(answer, 2 * i);
    }
    ntk_rpc_client_destroy(client);
}

static void *linger(void *ctx)
{
    const struct fixture *f = ctx;
    struct ntk_rpc_client *client = client_of(f, 120);
    struct ntk_err err = { 0 };
    uint32_t answer = 0;

    /* Until the second thread of the server has started, no callback may linger. */
    while (answer == 0) {
        assert_int_equal(ask(client, "/t/lingering", 1, &answer, &err), 0);
    }
    ntk_rpc_client_destroy(client);
    return NULL;
}

/* Method: a callback waits until the call of another client was received; three times, so that
 * each thread of the server lingers. */
static void an_rpc_callback_that_lingers_delays_no_other_call(void **state)
{
    struct fixture *f = *state;
    struct ntk_rpc_client *client = client_of(f, 120);
    struct ntk_err err = { 0 };
    uint32_t answer = 0;

    for (uint32_t round = 1; round <= 3; round++) {
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, linger, f), 0);
        do {
            assert_int_equal(ask(client, "/t/doubled", round, &answer, &err), 0);
            assert_int_equal(answer, 2 * round);
        } while (pthread_tryjoin_np(thread, NULL) != 0);
    }
    ntk_rpc_client_destroy(client);
}

static void every_rpc_error_has_a_message(void **state)
{
    struct fixture *f = *state;
    struct ntk_rpc_client *client = client_of(f, 120);
    struct ntk_rpc_client *hurried = client_of(f, 1);
    struct ntk_err err = { 0 };
    char expected[512];
    uint32_t answer;

    assert_int_equal(ask(client, "/t/none", 1, &answer, &err), -ENOSYS);
    (void)snprintf(expected, sizeof expected, "the daemon at %s does not serve /t/none",
                   f->endpoint);
    assert_string_equal(err.text, expected);
    assert_int_equal(ask(hurried, "/t/forgotten", 1, &answer, &err), -ETIMEDOUT);
    (void)snprintf(expected, sizeof expected, "the daemon at %s did not respond within 1 s",
                   f->endpoint);
    assert_string_equal(err.text, expected);
    assert_int_equal(ask(client, "/t/mistaken", 1, &answer, &err), -EPROTO);
    assert_non_null(strstr(err.text, "/t/mistaken"));
    assert_int_equal(ask(client, "/t/failing", 1, &answer, &err), -EPROTO);
    assert_non_null(strstr(err.text, "gRPC status 13: it"));
    assert_int_equal(ask(client, "/t/doubled", 4, &answer, &err), 0); /* it still works */
    ntk_rpc_client_destroy(hurried);
    ntk_rpc_client_destroy(client);
}

static void a_missing_peer_is_reported_with_its_address(void **state)
{
    struct fixture *f = *state;
    struct ntk_rpc_client *client = client_of(f, 30);
    struct ntk_err err = { 0 };
    char expected[512];
    uint32_t answer;

    assert_int_equal(ask(client, "/t/doubled", 1, &answer, &err), 0);
    server_end(f);
    assert_int_equal(ask(client, "/t/doubled", 1, &answer, &err), -ECONNREFUSED);
    assert_int_equal(f->calls, 1);
    ntk_rpc_client_destroy(client);
    client = client_of(f, 30);
    assert_int_equal(ask(client, "/t/doubled", 1, &answer, &err), -ECONNREFUSED);
    (void)snprintf(expected, sizeof expected, "no daemon responds at %s: No such file or directory",
                   f->endpoint);
    assert_string_equal(err.text, expected);
    ntk_rpc_client_destroy(client);
}

/* A server that accepts and sends nothing, and one with another protocol, end the call too. */
static void a_call_to_a_silent_or_foreign_server_fails(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct ntk_rpc_client *client;
    struct ntk_err err = { 0 };
    uint32_t answer;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    server_end(f);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", f->endpoint + strlen("unix:"));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 8), 0);
    client = client_of(f, 1);
    int ret = ask(client, "/t/doubled", 1, &answer, &err);
    assert_true(ret == -ETIMEDOUT || ret == -ECONNREFUSED);
    ntk_rpc_client_destroy(client);
    close(fd);
}

struct pieces {
    unsigned left;
    uint8_t bytes[100000];
    Nrt__LoadRequest request;
    Nrt__FileChunk chunk;
    unsigned fails_at; /* 0: never */
};

static const ProtobufCMessage *next(void *ctx, int *out_ret, struct ntk_err *err)
{
    struct pieces *pieces = ctx;

    if (pieces->left == pieces->fails_at) {
        *out_ret = pieces->left ? ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "the disk broke") : 0;
        return NULL;
    }
    pieces->left--;
    nrt__load_request__init(&pieces->request);
    nrt__file_chunk__init(&pieces->chunk);
    pieces->chunk.chunk =
        (ProtobufCBinaryData){ .len = sizeof pieces->bytes, .data = pieces->bytes };
    pieces->request.content_case = NRT__LOAD_REQUEST__CONTENT_NEFF_CHUNK;
    pieces->request.neff_chunk = &pieces->chunk;
    return &pieces->request.base;
}

static void a_streamed_request_arrives_completely(void **state)
{
    static struct pieces pieces;
    struct fixture *f = *state;
    struct ntk_rpc_client *client = client_of(f, 30);
    ProtobufCMessage *reply = NULL;
    struct ntk_err err = { 0 };

    pieces.left = PIECES;
    assert_int_equal(ntk_rpc_client_stream(client, "/t/pieces", next, &pieces,
                                           &nrt__load_response__descriptor, &reply, &err),
                     0);
    assert_int_equal(((Nrt__LoadResponse *)reply)->h_nn->id, 10001);
    assert_int_equal(f->heard_pieces, PIECES);
    assert_int_equal(f->heard_bytes, PIECES * sizeof pieces.bytes);
    protobuf_c_message_free_unpacked(reply, NULL);
    ntk_rpc_client_destroy(client);
}

static void an_early_response_ends_the_stream(void **state)
{
    static struct pieces pieces;
    struct ntk_rpc_client *client = client_of(*state, 30);
    ProtobufCMessage *reply = NULL;
    struct ntk_err err = { 0 };

    pieces.left = 100000; /* 10 GB, unless the server stops it */
    assert_int_equal(ntk_rpc_client_stream(client, "/t/refused", next, &pieces,
                                           &nrt__load_response__descriptor, &reply, &err),
                     0);
    assert_int_equal(((Nrt__LoadResponse *)reply)->status->code, NRT__NERR__NERR_INVALID);
    assert_true(pieces.left > 0);
    protobuf_c_message_free_unpacked(reply, NULL);
    ntk_rpc_client_destroy(client);
}

static void an_error_of_the_sending_callback_cancels_the_stream(void **state)
{
    static struct pieces pieces;
    struct ntk_rpc_client *client = client_of(*state, 30);
    ProtobufCMessage *reply = NULL;
    struct ntk_err err = { 0 };
    uint32_t answer;

    pieces.left = PIECES;
    pieces.fails_at = 5;
    assert_int_equal(ntk_rpc_client_stream(client, "/t/pieces", next, &pieces,
                                           &nrt__load_response__descriptor, &reply, &err),
                     -EIO);
    assert_string_equal(err.text, "the disk broke");
    assert_null(reply);
    assert_int_equal(ask(client, "/t/doubled", 4, &answer, &err), 0);
    ntk_rpc_client_destroy(client);
}

static void common_address_forms_are_accepted(void **state)
{
    static const char *const cases[][2] = {
        { "/run/neuron.sock", "unix:/run/neuron.sock" },
        { "/run/a:b", "unix:/run/a:b" },
        { "neuron.sock", "unix:neuron.sock" },
        { "unix:/run/neuron.sock", "unix:/run/neuron.sock" },
        { "0.0.0.0:5555", "0.0.0.0:5555" },
        { "[::1]:5555", "[::1]:5555" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *endpoint = ntk_rpc_endpoint_make(cases[i][0]);

        assert_string_equal(endpoint, cases[i][1]);
        free(endpoint);
    }
}

int main(void)
{
#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_SERVER(an_rpc_callback_that_lingers_delays_no_other_call),
        WITH_SERVER(an_rpc_call_returns_the_response_of_the_server),
        WITH_SERVER(every_rpc_error_has_a_message),
        WITH_SERVER(a_missing_peer_is_reported_with_its_address),
        WITH_SERVER(a_call_to_a_silent_or_foreign_server_fails),
        WITH_SERVER(a_streamed_request_arrives_completely),
        WITH_SERVER(an_early_response_ends_the_stream),
        WITH_SERVER(an_error_of_the_sending_callback_cancels_the_stream),
        cmocka_unit_test(common_address_forms_are_accepted),
    };
    /* Keep one user: the last shutdown waits up to 10 s for connections that are still closing. */
    grpc_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
