/* SPDX-License-Identifier: MIT */
/* Method: a metadata service of plain sockets on loopback, and a folder of DMI files. */
#include "agent/collect/instance.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "tests/support/clock.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define TOKEN "AQAEAsecret=="

struct page {
    const char *path;
    const char *text; /* NULL: 404 */
};

static const struct page all_pages[] = {
    { "/latest/meta-data/instance-id", "i-0f00000000000c0de" },
    { "/latest/meta-data/instance-type", "trn2.3xlarge" },
    { "/latest/meta-data/placement/availability-zone", "xx-test-1a" },
    { "/latest/meta-data/placement/availability-zone-id", "xxt1-az1" },
    { "/latest/meta-data/placement/region", "xx-test-1" },
    { "/latest/meta-data/ami-id", "ami-0f00000000000f00d" },
    { "/latest/meta-data/tags/instance/Name", "trainer 7" },
    { "/latest/meta-data/mac", "0a:1b:2c:3d:4e:5f" },
    { "/latest/meta-data/network/interfaces/macs/0a:1b:2c:3d:4e:5f/subnet-id", "subnet-0beef" },
    { NULL, NULL },
};

struct service {
    int listener;
    char endpoint[64];
    pthread_t thread;
    const struct page *pages;
    const char *hidden; /* answered with 404 */
    int failures;       /* token requests that get 503 first; atomic */
    int questions;      /* atomic */
    int unsigned_count; /* requests without the token; atomic */
    int closed;         /* connections that have ended; atomic */
    int is_silent;      /* accepts connections and never answers */
};

static void answer(int fd, int status, const char *text)
{
    char head[4096];

    snprintf(head, sizeof head,
             "HTTP/1.1 %d X\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", status,
             strlen(text), text);
    (void)send(fd, head, strlen(head), MSG_NOSIGNAL);
}

static void answer_question(struct service *s, int fd, const char *head)
{
    char method[8] = "";
    char path[256] = "";

    __atomic_add_fetch(&s->questions, 1, __ATOMIC_RELAXED);
    if (sscanf(head, "%7s %255s", method, path) != 2) {
        answer(fd, 400, "");
    } else if (strcmp(path, "/latest/api/token") == 0) {
        bool is_well = strcmp(method, "PUT") == 0 &&
                       strcasestr(head, "\r\nX-aws-ec2-metadata-token-ttl-seconds: ");
        if (__atomic_sub_fetch(&s->failures, 1, __ATOMIC_RELAXED) >= 0) {
            answer(fd, 503, "later");
        } else {
            answer(fd, is_well ? 200 : 400, is_well ? TOKEN : "");
        }
    } else if (!strcasestr(head, "\r\nX-aws-ec2-metadata-token: " TOKEN "\r\n")) {
        __atomic_add_fetch(&s->unsigned_count, 1, __ATOMIC_RELAXED);
        answer(fd, 401, "");
    } else {
        const struct page *page = s->pages;
        while (page->path && strcmp(page->path, path) != 0) {
            page++;
        }
        bool is_there = page->path && !(s->hidden && strcmp(s->hidden, path) == 0);
        answer(fd, is_there ? 200 : 404, is_there ? page->text : "not here");
    }
}

static void *serve(void *ctx)
{
    struct service *s = ctx;

    for (;;) {
        int fd = accept(s->listener, NULL, NULL);
        char head[8192];
        size_t used = 0;
        if (fd < 0) {
            return NULL; /* the test shut the listener down */
        }
        while (used < sizeof head - 1) {
            ssize_t got = recv(fd, head + used, sizeof head - 1 - used, 0);
            if (got <= 0) {
                break;
            }
            used += (size_t)got;
            head[used] = '\0';
            if (!strstr(head, "\r\n\r\n")) {
                continue;
            }
            if (s->is_silent) {
                __atomic_add_fetch(&s->questions, 1, __ATOMIC_RELAXED);
                continue; /* until the client hangs up */
            }
            answer_question(s, fd, head);
            break;
        }
        close(fd);
        __atomic_add_fetch(&s->closed, 1, __ATOMIC_RELAXED);
    }
}

static void start(struct service *s)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t bytes = sizeof address;

    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s->listener >= 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(s->listener, 16), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&address, &bytes), 0);
    snprintf(s->endpoint, sizeof s->endpoint, "http://127.0.0.1:%u/", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void stop(struct service *s)
{
    shutdown(s->listener, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->listener);
}

struct fixture {
    char *folder;
    struct test_clock clock;
    struct ntk_instance_source *source;
    struct ntk_snapshot *snapshot;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = test_scratch_create();
    test_clock_init(&f->clock);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_snapshot_destroy(f->snapshot);
    ntk_instance_source_destroy(f->source);
    test_clock_fini(&f->clock);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static void put_dmi(const struct fixture *f, const char *name, const char *text)
{
    char *folder = test_scratch_path(f->folder, "class/dmi/id");
    char path[1024];

    assert_int_equal(ntk_fs_make_folders(folder, 0700, NULL), 0);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(ntk_fs_write(path, text, strlen(text), NULL), 0);
    free(folder);
}

/* The program that sends the request; NULL: a thread of the process itself. All tests run with
 * both. */
static const char *program;

static void create(struct fixture *f, const char *endpoint, bool is_certain)
{
    const struct ntk_instance_options options = { .sysfs_root = f->folder,
                                                  .endpoint = endpoint,
                                                  .is_certain = is_certain,
                                                  .clock = &f->clock.clock,
                                                  .program = program };

    assert_int_equal(ntk_instance_source_create(&options, &f->source, NULL), 0);
}

static const struct ntk_instance *look(struct fixture *f)
{
    ntk_snapshot_destroy(f->snapshot);
    f->snapshot = ntk_snapshot_create();
    assert_non_null(f->snapshot);
    ntk_instance_source_get(f->snapshot, f->source);
    return &f->snapshot->instance;
}

static int is_reported(void *ctx)
{
    return look(ctx)->subnet_id[0] != '\0';
}

static int has_error(void *ctx)
{
    return look(ctx)->error[0] != '\0';
}

static void all_instance_metadata_is_read_from_the_service(void **state)
{
    struct fixture *f = *state;
    struct service s = { .pages = all_pages };

    start(&s);
    create(f, s.endpoint, true);
    assert_true(test_wait_until(is_reported, f));
    const struct ntk_instance *instance = look(f);
    assert_string_equal(instance->name, "trainer 7");
    assert_string_equal(instance->id, "i-0f00000000000c0de");
    assert_string_equal(instance->type, "trn2.3xlarge");
    assert_string_equal(instance->availability_zone, "xx-test-1a");
    assert_string_equal(instance->availability_zone_id, "xxt1-az1");
    assert_string_equal(instance->region, "xx-test-1");
    assert_string_equal(instance->ami_id, "ami-0f00000000000f00d");
    assert_string_equal(instance->subnet_id, "subnet-0beef");
    assert_string_equal(instance->error, "");
    ntk_instance_source_destroy(f->source);
    f->source = NULL;
    stop(&s);
    assert_int_equal(s.questions, 10); /* once, never again */
    assert_int_equal(s.unsigned_count, 0);
}

/* Method: programs that are missing, print nothing, or print something else. */
static void instance_metadata_is_read_without_a_usable_helper_program(void **state)
{
    static const char *const programs[] = { "/nonexistent/program", "/bin/true", "/bin/echo" };
    struct fixture *f = *state;
    const char *kept = program;

    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct service s = { .pages = all_pages };
        program = programs[i];
        start(&s);
        create(f, s.endpoint, true);
        assert_true(test_wait_until(is_reported, f));
        assert_string_equal(look(f)->id, "i-0f00000000000c0de");
        ntk_instance_source_destroy(f->source);
        f->source = NULL;
        stop(&s);
    }
    program = kept;
}

static int is_answered_half_a_minute_later(void *ctx)
{
    struct fixture *f = ctx;

    test_clock_advance(&f->clock, 30 * NTK_NS_PER_SECOND);
    return is_reported(f);
}

/* Method: the service sends a few bytes all the time, so only a client that checks the clock stops
 * reading. */
static void instance_metadata_is_read_despite_an_endless_helper_program(void **state)
{
    static const char text[] = "#!/bin/sh\nwhile :; do echo; sleep 0.05; done\n";
    struct fixture *f = *state;
    struct service s = { .pages = all_pages };
    const char *kept = program;
    char *path = test_scratch_path(f->folder, "endless");

    assert_int_equal(ntk_fs_write(path, text, strlen(text), NULL), 0);
    assert_int_equal(chmod(path, 0700), 0);
    program = path;
    start(&s);
    create(f, s.endpoint, true);
    assert_true(test_wait_until(is_answered_half_a_minute_later, f));
    ntk_instance_source_destroy(f->source);
    f->source = NULL;
    stop(&s);
    program = kept;
    free(path);
}

static void a_late_metadata_service_is_queried_at_growing_intervals(void **state)
{
    static const uint64_t pauses[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600 };
    enum { COUNT = sizeof pauses / sizeof *pauses };
    struct fixture *f = *state;
    struct service s = { .pages = all_pages, .failures = COUNT };

    start(&s);
    create(f, s.endpoint, true);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(test_clock_await(&f->clock), pauses[i] * NTK_NS_PER_SECOND);
        test_clock_advance(&f->clock, pauses[i] * NTK_NS_PER_SECOND);
    }
    assert_true(test_wait_until(is_reported, f));
    assert_string_equal(look(f)->error, "");
    stop(&s);
}

static void invalid_tags_are_not_an_error(void **state)
{
    struct fixture *f = *state;
    struct service s = { .pages = all_pages, .hidden = "/latest/meta-data/tags/instance/Name" };

    start(&s);
    create(f, s.endpoint, true);
    assert_true(test_wait_until(is_reported, f));
    assert_string_equal(look(f)->name, "");
    assert_string_equal(look(f)->error, "");
    stop(&s);
}

static void missing_required_metadata_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct service s = { .pages = all_pages, .hidden = "/latest/meta-data/ami-id" };

    start(&s);
    create(f, s.endpoint, true);
    assert_true(test_wait_until(has_error, f));
    assert_string_equal(look(f)->error,
                        "the instance metadata service returned HTTP 404 for meta-data/ami-id");
    assert_string_equal(look(f)->id, "i-0f00000000000c0de"); /* everything else is unchanged */
    ntk_instance_source_destroy(f->source);
    f->source = NULL;
    stop(&s);
}

static int is_asked(void *ctx)
{
    struct service *s = ctx;

    return __atomic_load_n(&s->questions, __ATOMIC_RELAXED) > 0;
}

static int is_hung_up(void *ctx)
{
    struct service *s = ctx;

    return __atomic_load_n(&s->closed, __ATOMIC_RELAXED) > 0;
}

/* Method: the service accepts the request and never answers. Reading known facts and destroying the
 * source do not wait for it. */
static void a_silent_metadata_service_does_not_delay_callers(void **state)
{
    struct fixture *f = *state;
    struct service s = { .pages = all_pages, .is_silent = 1 };

    start(&s);
    create(f, s.endpoint, true);
    assert_true(test_wait_until(is_asked, &s));
    assert_string_equal(look(f)->id, "");
    assert_string_equal(look(f)->error, "");
    ntk_instance_source_destroy(f->source);
    f->source = NULL;
    assert_true(test_wait_until(is_hung_up, &s));
    stop(&s);
}

static void control_bytes_in_instance_metadata_are_replaced(void **state)
{
    static const struct page pages[] = {
        { "/latest/meta-data/instance-id", "i-1\r\nmore" },
        { "/latest/meta-data/instance-type", "\x01\xff" },
        { "/latest/meta-data/placement/availability-zone", "" },
        { "/latest/meta-data/ami-id", "x" },
        { "/latest/meta-data/mac", "../../user-data" },
        { NULL, NULL },
    };
    struct fixture *f = *state;
    struct service s = { .pages = pages };

    start(&s);
    create(f, s.endpoint, true);
    assert_true(test_wait_until(has_error, f));
    assert_string_equal(look(f)->id, "i-1");
    assert_string_equal(look(f)->type, "\xef\xbf\xbd\xef\xbf\xbd");
    assert_non_null(strstr(look(f)->error, "an invalid MAC address"));
    ntk_instance_source_destroy(f->source);
    f->source = NULL;
    stop(&s);
}

static void firmware_provides_partial_instance_metadata_without_the_service(void **state)
{
    struct fixture *f = *state;

    put_dmi(f, "sys_vendor", "Amazon EC2\n");
    put_dmi(f, "product_name", "trn1.32xlarge\n");
    put_dmi(f, "board_asset_tag", "i-0123\n");
    create(f, NULL, false);
    assert_string_equal(look(f)->id, "i-0123");
    assert_string_equal(look(f)->type, "trn1.32xlarge");
    assert_string_equal(look(f)->availability_zone, "");
    assert_string_equal(look(f)->error, "");
}

/* Method: firmware of another vendor, and a service that counts requests. */
static void the_metadata_service_is_queried_only_on_ec2(void **state)
{
    struct fixture *f = *state;
    struct service s = { .pages = all_pages };

    put_dmi(f, "sys_vendor", "LENOVO\n");
    put_dmi(f, "product_name", "20XW\n");
    put_dmi(f, "board_asset_tag", "i-not\n");
    start(&s);
    create(f, s.endpoint, false);
    assert_string_equal(look(f)->id, "");
    assert_string_equal(look(f)->type, "");
    assert_string_equal(look(f)->error, "");
    ntk_instance_source_destroy(f->source);
    f->source = NULL;
    stop(&s);
    assert_int_equal(s.questions, 0);
}

static void sdk_environment_variables_select_the_metadata_endpoint(void **state)
{
    bool is_certain;

    unsetenv("AWS_EC2_METADATA_DISABLED");
    unsetenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    assert_string_equal(ntk_instance_endpoint_get(&is_certain), NTK_INSTANCE_ENDPOINT);
    assert_false(is_certain);
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://[fd00:ec2::254]", 1);
    assert_string_equal(ntk_instance_endpoint_get(&is_certain), "http://[fd00:ec2::254]");
    assert_true(is_certain);
    setenv("AWS_EC2_METADATA_DISABLED", "True", 1);
    assert_null(ntk_instance_endpoint_get(&is_certain));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(all_instance_metadata_is_read_from_the_service),
        CASE(instance_metadata_is_read_without_a_usable_helper_program),
        CASE(instance_metadata_is_read_despite_an_endless_helper_program),
        CASE(a_late_metadata_service_is_queried_at_growing_intervals),
        CASE(invalid_tags_are_not_an_error),
        CASE(missing_required_metadata_is_an_error),
        CASE(a_silent_metadata_service_does_not_delay_callers),
        CASE(control_bytes_in_instance_metadata_are_replaced),
        CASE(firmware_provides_partial_instance_metadata_without_the_service),
        CASE(the_metadata_service_is_queried_only_on_ec2),
        cmocka_unit_test(sdk_environment_variables_select_the_metadata_endpoint),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char *built = test_scratch_path(getenv("NTK_BIN_DIR"), "neuron-monitor");
    program = built;
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    free(built);
    return failed;
}
