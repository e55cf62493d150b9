/* SPDX-License-Identifier: MIT */
/* Method: a fake kubelet on a socket in a scratch folder, names of log files, and made-up
 * snapshots. */
#include "agent/collect/pods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/clock.h"
#include "tests/support/fake_kubelet.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define CORE "aws.amazon.com/neuroncore"
#define DEVICE "aws.amazon.com/neurondevice"
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define IDS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define PERIOD_NS (20 * NTK_NS_PER_SECOND)

#define SHORT_NS (200 * NTK_NS_PER_MS) /* for a kubelet that never answers */

struct fixture {
    char *folder;
    char *socket_path;
    struct fake_kubelet kubelet;
    struct test_clock clock;
    struct ntk_pods *pods;
    uint64_t rounds;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = test_scratch_create();
    test_clock_init(&f->clock);
    f->socket_path = test_scratch_path(f->folder, "kubelet.sock");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_pods_destroy(f->pods);
    if (f->kubelet.path[0]) {
        fake_kubelet_stop(&f->kubelet);
    }
    test_clock_fini(&f->clock);
    test_scratch_destroy(f->folder);
    free(f->socket_path);
    free(f);
    return 0;
}

static void start_with(struct fixture *f, uint64_t timeout_ns)
{
    const struct ntk_pods_options options = { .socket_path = f->socket_path,
                                              .host_root = f->folder,
                                              .period_ns = PERIOD_NS,
                                              .timeout_ns = timeout_ns,
                                              .clock = &f->clock.clock };

    assert_int_equal(ntk_pods_create(&options, &f->pods, NULL), 0);
}

static void start(struct fixture *f)
{
    start_with(f, test_patience_ns());
}

static int has_two_more_rounds(void *ctx)
{
    struct fixture *f = ctx;

    test_clock_advance(&f->clock, PERIOD_NS);
    return ntk_pods_rounds(f->pods) >= f->rounds + 2;
}

/* Returns once a request that started later has been answered and its answer was used. */
static void wait_for_round(struct fixture *f)
{
    f->rounds = ntk_pods_rounds(f->pods);
    assert_true(test_wait_until(has_two_more_rounds, f));
}

static void set_pods(struct fixture *f, struct ntk_buf *message)
{
    struct ntk_buf framed = { 0 };

    fake_kubelet_frame(&framed, message);
    fake_kubelet_set(&f->kubelet, FAKE_KUBELET_ANSWERS, framed.bytes, framed.bytes_count);
    ntk_buf_fini(&framed);
}

/* Two devices of four logical cores each; one runtime on a range of physical cores. */
static struct ntk_snapshot *machine(uint32_t lnc, uint32_t first, uint32_t count)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();

    snapshot->hardware.lnc = lnc;
    snapshot->hardware.cores_per_device = 4 * lnc;
    snapshot->hardware.device_count = 2;
    struct ntk_runtime_sample *runtime = ntk_snapshot_alloc_runtimes(snapshot, 1);
    runtime->lnc = lnc;
    runtime->core_count = count;
    runtime->cores = ntk_snapshot_alloc(snapshot, count, sizeof *runtime->cores);
    for (uint32_t i = 0; i < count; i++) {
        runtime->cores[i].core = first + i;
    }
    return snapshot;
}

static void assert_pod(const struct ntk_snapshot *snapshot, const char *namespace_name,
                       const char *pod, const char *container)
{
    assert_string_equal(snapshot->runtimes[0].pod.namespace_name, namespace_name);
    assert_string_equal(snapshot->runtimes[0].pod.name, pod);
    assert_string_equal(snapshot->runtimes[0].pod.container_name, container);
}

/* The error is a message that names the socket and contains these words. */
static void assert_error(struct fixture *f, const char *words)
{
    struct ntk_snapshot *snapshot = machine(1, 0, 1);

    ntk_pods_get(snapshot, f->pods);
    if (!strstr(snapshot->k8s.error, f->socket_path) || !strstr(snapshot->k8s.error, words)) {
        fail_msg("'%s' does not say '%s'", snapshot->k8s.error, words);
    }
    assert_int_equal(snapshot->k8s.core_count, 0);
    assert_int_equal(snapshot->k8s.device_count, 0);
    assert_pod(snapshot, "", "", "");
    ntk_snapshot_destroy(snapshot);
}

/* -- known values ------------------------------------------------------------------------------ */

static void an_application_belongs_to_the_pod_with_all_its_cores(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf message = { 0 };

    fake_kubelet_start(&f->kubelet, f->socket_path);
    fake_kubelet_pod(&message, "ml", "bert-0", "serve", CORE, IDS("2", "3"));
    fake_kubelet_pod(&message, "ml", "train-0", "main", DEVICE, IDS("1"));
    set_pods(f, &message);
    start(f);
    wait_for_round(f);

    /* Logical cores 2 and 3 are physical cores 4 to 7. */
    struct ntk_snapshot *snapshot = machine(2, 4, 4);
    ntk_pods_get(snapshot, f->pods);
    assert_string_equal(snapshot->k8s.error, "");
    assert_int_equal(snapshot->k8s.period_ns, PERIOD_NS);
    assert_pod(snapshot, "ml", "bert-0", "serve");
    /* The cores of a device belong to the device's pod. */
    assert_int_equal(snapshot->k8s.core_count, 6);
    assert_int_equal(snapshot->k8s.cores[0].index, 2);
    assert_int_equal(snapshot->k8s.cores[2].index, 4);
    assert_string_equal(snapshot->k8s.cores[2].pod_name, "train-0");
    assert_int_equal(snapshot->k8s.cores[5].index, 7);
    assert_int_equal(snapshot->k8s.device_count, 1);
    assert_int_equal(snapshot->k8s.devices[0].index, 1);
    assert_string_equal(snapshot->k8s.devices[0].containers[0], "main");
    ntk_snapshot_destroy(snapshot);

    /* Cores of two pods, or an unassigned core, belong to no pod. */
    snapshot = machine(1, 3, 2);
    ntk_pods_get(snapshot, f->pods);
    assert_pod(snapshot, "", "", "");
    ntk_snapshot_destroy(snapshot);
    snapshot = machine(1, 1, 2);
    ntk_pods_get(snapshot, f->pods);
    assert_pod(snapshot, "", "", "");
    ntk_snapshot_destroy(snapshot);
    snapshot = machine(1, 0, 0);
    ntk_pods_get(snapshot, f->pods);
    assert_pod(snapshot, "", "", "");
    ntk_snapshot_destroy(snapshot);
}

static void containers_that_share_a_core_are_listed_together(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf message = { 0 };

    fake_kubelet_start(&f->kubelet, f->socket_path);
    fake_kubelet_pod(&message, "ml", "bert-0", "serve", CORE, IDS("0"));
    fake_kubelet_pod(&message, "ml", "bert-0", "side\ncar", CORE, IDS("0"));
    fake_kubelet_pod(&message, "zz", "late", "main", CORE, IDS("0"));
    set_pods(f, &message);
    start(f);
    wait_for_round(f);
    struct ntk_snapshot *snapshot = machine(1, 0, 1);
    ntk_pods_get(snapshot, f->pods);
    assert_int_equal(snapshot->k8s.core_count, 1);
    assert_int_equal(snapshot->k8s.cores[0].container_count, 2);
    assert_string_equal(snapshot->runtimes[0].pod.name, "bert-0");
    assert_null(strchr(snapshot->runtimes[0].pod.container_name, '\n'));
    assert_memory_equal(snapshot->runtimes[0].pod.container_name, "serve,side", 10);
    ntk_snapshot_destroy(snapshot);
}

static void the_container_id_takes_precedence_over_the_cores(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf message = { 0 };
    char path[1024];

    snprintf(path, sizeof path, "%s/var/log/containers", f->folder);
    char command[1200];
    snprintf(command, sizeof command, "mkdir -p %s && touch %s/bert-0_ml_serve-fast-" ID ".log",
             path, path);
    assert_int_equal(system(command), 0);
    fake_kubelet_start(&f->kubelet, f->socket_path);
    fake_kubelet_pod(&message, "ml", "other-0", "main", CORE, IDS("0"));
    set_pods(f, &message);
    start(f);
    wait_for_round(f);
    struct ntk_snapshot *snapshot = machine(1, 0, 1);
    snapshot->runtimes[0].container_id = ID;
    ntk_pods_get(snapshot, f->pods);
    assert_pod(snapshot, "ml", "bert-0", "serve-fast");
    ntk_snapshot_destroy(snapshot);

    /* Names are known without a kubelet, too. With DRA on old kubelets they are the only source. */
    fake_kubelet_set(&f->kubelet, FAKE_KUBELET_REFUSES, "", 0);
    wait_for_round(f);
    snapshot = machine(1, 0, 1);
    snapshot->runtimes[0].container_id = ID;
    ntk_pods_get(snapshot, f->pods);
    assert_pod(snapshot, "ml", "bert-0", "serve-fast");
    ntk_snapshot_destroy(snapshot);
}

static void pod_and_container_are_parsed_from_log_file_names(void **state)
{
    static const char *const others[] = {
        "",
        "x.log",
        "-" ID ".log",
        "pod_ns-" ID ".log",
        "pod_ns_-" ID ".log",
        "_ns_c-" ID ".log",
        "pod__c-" ID ".log",
        "pod_ns_c" ID ".log",
        "pod_ns_c-" ID ".txt",
        ("pod_ns_c-" ID),
        "pod_ns_c-g123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde.log",
    };
    struct ntk_container_name name;
    char hostile[2000];

    assert_true(ntk_container_name_parse("a-b.c_n-1_x-y-" ID ".log", &name));
    assert_string_equal(name.pod, "a-b.c");
    assert_string_equal(name.namespace_name, "n-1");
    assert_string_equal(name.container, "x-y");
    assert_string_equal(name.id, ID);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(ntk_container_name_parse(others[i], &name));
    }
    memset(hostile, 'p', sizeof hostile);
    snprintf(hostile + 1000, 500, "_n_c-" ID ".log");
    assert_false(ntk_container_name_parse(hostile, &name)); /* longer than a pod name can be */
}

static int has_a_round(void *ctx)
{
    struct fixture *f = ctx;

    return ntk_pods_rounds(f->pods) > f->rounds;
}

/* A new application does not shorten the minimum gap after the previous request. */
static void the_kubelet_is_queried_every_period_and_for_new_applications(void **state)
{
    struct fixture *f = *state;
    struct ntk_snapshot *snapshot = machine(1, 0, 1);

    start(f);
    assert_true(test_wait_until(has_a_round, f));
    for (f->rounds = 1; f->rounds < 3; f->rounds++) {
        assert_int_equal(test_clock_await(&f->clock), NTK_PODS_GAP_NS);
        test_clock_advance(&f->clock, NTK_PODS_GAP_NS);
        assert_int_equal(test_clock_await(&f->clock), PERIOD_NS - NTK_PODS_GAP_NS);
        test_clock_advance(&f->clock, PERIOD_NS - NTK_PODS_GAP_NS);
        assert_true(test_wait_until(has_a_round, f));
    }
    snapshot->runtimes[0].first = true;
    ntk_pods_get(snapshot, f->pods);
    assert_int_equal(test_clock_await(&f->clock), NTK_PODS_GAP_NS);
    test_clock_advance(&f->clock, NTK_PODS_GAP_NS);
    assert_true(test_wait_until(has_a_round, f));
    ntk_snapshot_destroy(snapshot);
}

/* -- failures --------------------------------------------------------------------------- */

static void an_absent_kubelet_is_reported_and_may_appear_later(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf message = { 0 };

    start(f);
    wait_for_round(f);
    assert_error(f, ": No such file or directory");
    fake_kubelet_start(&f->kubelet, f->socket_path);
    fake_kubelet_pod(&message, "ml", "bert-0", "serve", CORE, IDS("0"));
    set_pods(f, &message);
    wait_for_round(f);
    struct ntk_snapshot *snapshot = machine(1, 0, 1);
    ntk_pods_get(snapshot, f->pods);
    assert_string_equal(snapshot->k8s.error, "");
    assert_pod(snapshot, "ml", "bert-0", "serve");
    ntk_snapshot_destroy(snapshot);
}

static void an_invalid_kubelet_response_is_reported_and_yields_no_pods(void **state)
{
    static const char garbage[] = "\0\0\0\0\4\xff\xff\xff\xff";
    static const struct {
        enum fake_kubelet_manner manner;
        const char *body;
        size_t body_bytes;
        const char *words;
    } rows[] = {
        { FAKE_KUBELET_REFUSES, "", 0, "grpc-status 12 (unimplemented): not here" },
        { FAKE_KUBELET_FORGETS, garbage, 9, "no grpc-status" },
        { FAKE_KUBELET_ANSWERS, garbage, 9, "cannot decode the list of pods in the response" },
        { FAKE_KUBELET_ANSWERS, "", 0, "ends inside a frame header" },
        { FAKE_KUBELET_CUTS, garbage, 9, "cannot get pods from the kubelet" },
        { FAKE_KUBELET_BABBLES, "", 0, "cannot get pods from the kubelet" },
    };
    struct fixture *f = *state;
    struct ntk_buf message = { 0 };

    fake_kubelet_start(&f->kubelet, f->socket_path);
    fake_kubelet_pod(&message, "ml", "bert-0", "serve", CORE, IDS("0"));
    set_pods(f, &message);
    start(f);
    wait_for_round(f); /* known pods are forgotten: they may be gone */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fake_kubelet_set(&f->kubelet, rows[i].manner, rows[i].body, rows[i].body_bytes);
        wait_for_round(f);
        assert_error(f, rows[i].words);
    }
}

static void a_request_to_a_silent_kubelet_times_out(void **state)
{
    struct fixture *f = *state;

    fake_kubelet_start(&f->kubelet, f->socket_path);
    fake_kubelet_set(&f->kubelet, FAKE_KUBELET_SILENT, "", 0);
    start_with(f, SHORT_NS);
    wait_for_round(f);
    assert_error(f, "cannot get pods from the kubelet");
}

static void a_kubelet_response_beyond_the_limit_is_rejected(void **state)
{
    struct fixture *f = *state;
    size_t bytes = NTK_POD_LIST_BYTES_MAX + 100000;
    char *body = calloc(1, bytes);

    fake_kubelet_start(&f->kubelet, f->socket_path);
    fake_kubelet_set(&f->kubelet, FAKE_KUBELET_ANSWERS, body, bytes);
    free(body);
    start(f);
    wait_for_round(f);
    assert_error(f, "cannot get pods from the kubelet");
}

static int was_asked(void *ctx)
{
    struct fixture *f = ctx;

    pthread_mutex_lock(&f->kubelet.lock);
    bool asked = f->kubelet.questions > 0;
    pthread_mutex_unlock(&f->kubelet.lock);
    return asked;
}

/* The thread waits in a request that is never answered, with a limit of ten minutes. */
static void reports_and_shutdown_do_not_wait_for_a_silent_kubelet(void **state)
{
    struct fixture *f = *state;
    const struct ntk_pods_options options = { .socket_path = f->socket_path,
                                              .host_root = f->folder,
                                              .timeout_ns = 600 * NTK_NS_PER_SECOND };

    fake_kubelet_start(&f->kubelet, f->socket_path);
    fake_kubelet_set(&f->kubelet, FAKE_KUBELET_SILENT, "", 0);
    assert_int_equal(ntk_pods_create(&options, &f->pods, NULL), 0);
    assert_true(test_wait_until(was_asked, f));
    struct ntk_snapshot *snapshot = machine(1, 0, 1);
    ntk_pods_get(snapshot, f->pods);
    assert_pod(snapshot, "", "", "");
    assert_int_equal(snapshot->k8s.period_ns, NTK_PODS_PERIOD_NS);
    ntk_snapshot_destroy(snapshot);
    ntk_pods_destroy(f->pods);
    f->pods = NULL;
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_application_belongs_to_the_pod_with_all_its_cores),
        T(containers_that_share_a_core_are_listed_together),
        T(the_container_id_takes_precedence_over_the_cores),
        T(pod_and_container_are_parsed_from_log_file_names),
        T(the_kubelet_is_queried_every_period_and_for_new_applications),
        T(an_absent_kubelet_is_reported_and_may_appear_later),
        T(an_invalid_kubelet_response_is_reported_and_yields_no_pods),
        T(a_request_to_a_silent_kubelet_times_out),
        T(a_kubelet_response_beyond_the_limit_is_rejected),
        T(reports_and_shutdown_do_not_wait_for_a_silent_kubelet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
