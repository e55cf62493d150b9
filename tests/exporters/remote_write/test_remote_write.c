/* SPDX-License-Identifier: MIT */
/* Method: a receiver of the test that answers each request with the next status of a list;
 * remote_write.sh uses a real Prometheus. */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exporters/remote_write/remote_write.h"
#include "exporters/transport/output_counts.h"
#include "shared/base/fs.h"
#include "shared/metrics/snapshot.h"
#include "tests/support/process.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define REQUESTS_MAX 9
#define HEAD_BYTES 4096
#define ALL_WRITTEN "X-Prometheus-Remote-Write-Samples-Written: 1000000"

struct receiver {
    int fd;
    pthread_t thread;
    const int *statuses; /* terminated by 0 */
    const char *written; /* header of answers to messages of 2.0; NULL: none */
    atomic_int count;    /* requests answered */
    char heads[REQUESTS_MAX][HEAD_BYTES];
};

/* Reads the head of a request up to its empty line, and the announced number of body bytes. */
static void read_request(int fd, char *head)
{
    size_t used = 0;
    size_t body_bytes = 0;
    char byte;

    while (used < HEAD_BYTES - 1 && read(fd, head + used, 1) == 1) {
        head[++used] = '\0';
        if (used >= 4 && strcmp(head + used - 4, "\r\n\r\n") == 0) {
            break;
        }
    }
    const char *length = strstr(head, "Content-Length: ");
    body_bytes = length ? strtoul(length + 16, NULL, 10) : 0;
    while (body_bytes && read(fd, &byte, 1) == 1) {
        body_bytes--;
    }
}

static bool is_v2(const char *head)
{
    bool has_type = strstr(
        head, "\r\nContent-Type: application/x-protobuf;proto=io.prometheus.write.v2.Request\r\n");
    bool has_version = strstr(head, "\r\nX-Prometheus-Remote-Write-Version: 2.0.0\r\n");

    assert_int_equal(has_type, has_version);
    assert_true(has_type || (strstr(head, "\r\nContent-Type: application/x-protobuf\r\n") &&
                             strstr(head, "\r\nX-Prometheus-Remote-Write-Version: 0.1.0\r\n")));
    return has_type;
}

static void *receive(void *ctx)
{
    struct receiver *receiver = ctx;

    for (int i = 0; receiver->statuses[i]; i++) {
        char answer[256];
        int fd = accept(receiver->fd, NULL, NULL);
        if (fd < 0) {
            break;
        }
        read_request(fd, receiver->heads[i]);
        bool says_written =
            receiver->written && receiver->statuses[i] != 415 && is_v2(receiver->heads[i]);
        int bytes = snprintf(answer, sizeof answer,
                             "HTTP/1.1 %d x\r\n%s%sContent-Length: 4\r\nConnection: "
                             "close\r\n\r\nwhy?",
                             receiver->statuses[i], says_written ? receiver->written : "",
                             says_written ? "\r\n" : "");
        (void)!write(fd, answer, (size_t)bytes);
        close(fd);
        atomic_fetch_add(&receiver->count, 1);
    }
    return NULL;
}

struct fixture {
    char *folder;
    char *token_file;
    char url[64];
    struct receiver receiver;
    void *state;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t address_bytes = sizeof address;

    f->folder = test_scratch_create();
    f->token_file = test_scratch_path(f->folder, "token");
    f->receiver.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->receiver.fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(f->receiver.fd, 8), 0);
    assert_int_equal(getsockname(f->receiver.fd, (struct sockaddr *)&address, &address_bytes), 0);
    snprintf(f->url, sizeof f->url, "http://127.0.0.1:%u/push", ntohs(address.sin_port));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_exporter_remote_write.destroy(f->state);
    close(f->receiver.fd);
    free(f->token_file);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static int has_all(void *ctx)
{
    const struct receiver *receiver = ctx;

    return receiver->statuses[atomic_load(&receiver->count)] == 0;
}

/* Pushes snapshots, one request each; the receiver answers with exactly these statuses. */
static void push(struct fixture *f, int snapshots, const int *statuses, const char *token_file)
{
    const struct ntk_exporter_options options = { 0 };
    struct ntk_err err = { 0 };

    ntk_remote_write_target.url = f->url;
    ntk_remote_write_target.token_file = token_file;
    f->receiver.statuses = statuses;
    assert_int_equal(pthread_create(&f->receiver.thread, NULL, receive, &f->receiver), 0);
    assert_int_equal(ntk_exporter_remote_write.create(&options, &f->state, &err), 0);
    for (int i = 0; i < snapshots; i++) {
        struct ntk_snapshot *snapshot = test_sample_snapshot(1);
        assert_int_equal(ntk_exporter_remote_write.put(f->state, snapshot, &err), 0);
        ntk_snapshot_destroy(snapshot);
    }
    assert_true(test_wait_until(has_all, &f->receiver));
    assert_int_equal(pthread_join(f->receiver.thread, NULL), 0);
    int drained;
    do {
        drained = ntk_exporter_remote_write.drain(f->state, false, &err);
    } while (drained == 0);
    assert_int_equal(drained, 1); /* nothing is waiting: another request would find no peer */
}

static void messages_are_retried_on_temporary_and_dropped_on_permanent_errors(void **state)
{
    static const int statuses[] = { 503, 429, 500, 200, 400, 204, 404, 302, 200, 0 };
    struct fixture *f = *state;

    f->receiver.written = ALL_WRITTEN;
    push(f, 5, statuses, NULL);
}

static struct ntk_output_counts counts(void)
{
    struct ntk_output_counts rows[NTK_OUTPUT_COUNTS_MAX];

    assert_int_equal(ntk_output_counts_read(rows), 1);
    assert_string_equal(rows[0].name, "remote write");
    return rows[0];
}

/* After 415, or a success without counts of written samples, the same samples are sent as 1.0,
 * then all others. A retry is sent as 1.0, too. */
static void version_1_messages_are_sent_to_a_version_1_receiver(void **state)
{
    static const int rows[][7] = {
        { 415, 204, 204, 0 }, { 204, 204, 204, 0 }, { 400, 204, 204, 0 }, { 415, 503, 204, 204, 0 }
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        atomic_store(&f->receiver.count, 0);
        push(f, 2, rows[i], NULL);
        struct ntk_output_counts now = counts();
        assert_true(now.sent_items > 100 && now.refused_items == 0 && now.lost_items == 0);
        int count = atomic_load(&f->receiver.count);
        for (int k = 0; k < count; k++) {
            assert_int_equal(is_v2(f->receiver.heads[k]), k == 0);
        }
        ntk_exporter_remote_write.destroy(f->state);
        f->state = NULL;
    }
}

/* A rejection is final if the receiver accepted 2.0 before, or if the user configured its
 * version. */
static void rejections_by_a_known_version_2_receiver_are_final(void **state)
{
    static const int known[] = { 204, 400, 204, 0 };
    static const int fixed[] = { 204, 415, 0 };
    struct fixture *f = *state;

    f->receiver.written = ALL_WRITTEN;
    push(f, 3, known, NULL);
    for (int i = 0; i < 3; i++) {
        assert_true(is_v2(f->receiver.heads[i]));
    }
    ntk_exporter_remote_write.destroy(f->state);
    f->state = NULL;
    f->receiver.written = NULL;
    atomic_store(&f->receiver.count, 0);
    ntk_remote_write_target.protocol = "2.0";
    push(f, 2, fixed, NULL);
    assert_true(is_v2(f->receiver.heads[0]) && is_v2(f->receiver.heads[1]));
    assert_int_equal(counts().sent_items, 0); /* 204, but nothing confirms that samples were read */
    ntk_exporter_remote_write.destroy(f->state);
    f->state = NULL;
    ntk_remote_write_target.protocol = "1.0";
    atomic_store(&f->receiver.count, 0);
    push(f, 2, fixed, NULL);
    assert_false(is_v2(f->receiver.heads[0]) || is_v2(f->receiver.heads[1]));
    ntk_remote_write_target.protocol = NULL;
}

/* An old replica or a proxy answers one request. */
static void one_rejection_does_not_change_the_known_receiver_version(void **state)
{
    static const int statuses[] = { 204, 415, 204, 204, 0 };
    static const bool are_v2[] = { true, true, false, true };
    struct fixture *f = *state;

    f->receiver.written = ALL_WRITTEN;
    push(f, 3, statuses, NULL);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(is_v2(f->receiver.heads[i]), are_v2[i]);
    }
}

/* Tested with a successful and with a failed response. */
static void unwritten_samples_count_as_rejected(void **state)
{
    static const int statuses[][2] = { { 200, 0 }, { 400, 0 } };
    struct fixture *f = *state;

    f->receiver.written = "X-Prometheus-Remote-Write-Samples-Written: 3\r\n"
                          "X-Prometheus-Remote-Write-Histograms-Written: 2";
    for (int i = 0; i < 2; i++) {
        atomic_store(&f->receiver.count, 0);
        push(f, 1, statuses[i], NULL);
        assert_int_equal(counts().sent_items, 5);
        assert_true(counts().refused_items > 100);
        ntk_exporter_remote_write.destroy(f->state);
        f->state = NULL;
    }
}

/* Read again for each request. */
static void the_password_is_read_from_a_file(void **state)
{
    static const int statuses[] = { 503, 200, 0 };
    struct fixture *f = *state;

    assert_int_equal(ntk_fs_write(f->token_file, "me:s3:cret\n", 11, NULL), 0);
    ntk_remote_write_target.password_file = f->token_file;
    f->receiver.written = ALL_WRITTEN;
    push(f, 1, statuses, NULL);
    for (int i = 0; i < 2; i++) {
        assert_non_null(
            strstr(f->receiver.heads[i], "\r\nAuthorization: Basic bWU6czM6Y3JldA==\r\n"));
    }
    ntk_remote_write_target.password_file = NULL;
}

static void request_headers_name_format_tenant_and_token(void **state)
{
    static const int statuses[] = { 200, 0 };
    struct fixture *f = *state;
    const char *head = f->receiver.heads[0];

    static const char headers[] = "X-Scope-OrgID: team-a\r\n\n# own\nX-Other:  b: c";
    char *headers_file = test_scratch_path(f->folder, "headers");

    assert_int_equal(ntk_fs_write(f->token_file, "s3cret\n", 7, NULL), 0);
    assert_int_equal(ntk_fs_write(headers_file, headers, sizeof headers - 1, NULL), 0);
    f->receiver.written = ALL_WRITTEN;
    ntk_remote_write_target.headers_file = headers_file;
    push(f, 1, statuses, f->token_file);
    assert_non_null(strstr(head, "POST /push HTTP/1.1\r\n"));
    assert_non_null(strstr(head, "\r\nContent-Encoding: snappy\r\n"));
    assert_true(is_v2(head));
    assert_non_null(strstr(head, "\r\nAuthorization: Bearer s3cret\r\n"));
    assert_non_null(strstr(head, "\r\nX-Scope-OrgID: team-a\r\n"));
    assert_non_null(strstr(head, "\r\nX-Other:  b: c\r\n"));
    assert_null(strstr(head, "# own"));
    ntk_remote_write_target.headers_file = NULL;
    free(headers_file);
}

static void invalid_headers_are_rejected_without_printing_their_value(void **state)
{
    static const char *const texts[] = { "A: 1\ns3cret\n",
                                         "A: 1\nB C: s3cret\n",
                                         "A: 1\nB:  \n",
                                         "A: 1\nB:\t\n",
                                         "A: 1\nhost: s3cret\n",
                                         "A: 1\ncontent-type: s3cret\n",
                                         "A: 1\nx-prometheus-remote-write-version: s3cret\n" };
    const struct ntk_exporter_options options = { 0 };
    struct fixture *f = *state;
    char *path = test_scratch_path(f->folder, "headers");

    ntk_remote_write_target.url = f->url;
    ntk_remote_write_target.token_file = NULL;
    ntk_remote_write_target.headers_file = path;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ntk_err err = { 0 };
        void *made = NULL;

        assert_int_equal(ntk_fs_write(path, texts[i], strlen(texts[i]), NULL), 0);
        assert_int_equal(ntk_exporter_remote_write.create(&options, &made, &err), -EBADMSG);
        assert_non_null(strstr(err.text, "line 2: expected 'Name: value'"));
        assert_null(strstr(err.text, "s3cret"));
    }
    struct ntk_err err = { 0 };
    void *made = NULL;

    ntk_remote_write_target.token_file = path;
    assert_int_equal(ntk_fs_write(path, "authorization: Basic s3cret\n", 28, NULL), 0);
    assert_int_equal(ntk_exporter_remote_write.create(&options, &made, &err), -EINVAL);
    assert_non_null(strstr(err.text, "line 1: the Authorization header and a token"));
    assert_null(strstr(err.text, "s3cret"));
    ntk_remote_write_target.token_file = NULL;
    ntk_remote_write_target.headers_file = NULL;
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            messages_are_retried_on_temporary_and_dropped_on_permanent_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(version_1_messages_are_sent_to_a_version_1_receiver, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(rejections_by_a_known_version_2_receiver_are_final, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_rejection_does_not_change_the_known_receiver_version,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(unwritten_samples_count_as_rejected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_password_is_read_from_a_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(request_headers_name_format_tenant_and_token, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(invalid_headers_are_rejected_without_printing_their_value,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
