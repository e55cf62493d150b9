/* SPDX-License-Identifier: MIT */
/*
 * The hooks as the observed process calls them, seen through shared/ring by another process.
 * Method: a forked child attaches in a folder of its own and calls; the parent reads its segment.
 */
#include "runtime-hooks/hooks/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/ring/ring_registry.h"
#include "tests/support/emulated.h"
#include "tests/support/observed.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define CHECK(condition)                                                                        \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            (void)fprintf(stderr, "%s:%d: in the child: %s\n", __FILE__, __LINE__, #condition); \
            _exit(99);                                                                          \
        }                                                                                       \
    } while (0)

struct fixture {
    char *folder;
    struct ntk_ring_registry *registry;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct ntk_ring_options options = { .hold = true };

    f->folder = test_scratch_create();
    options.folder = f->folder;
    assert_int_equal(ntk_ring_registry_open(&options, &f->registry, NULL), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_ring_registry_close(f->registry);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

/* The only segment, after a poll. */
static struct ntk_ring_segment *only_segment(struct fixture *f)
{
    struct ntk_ring_poll poll;

    assert_int_equal(ntk_ring_registry_poll(f->registry, &poll, NULL), 0);
    assert_string_equal(poll.ignored_reason, "");
    assert_int_equal(poll.segments, 1);
    return ntk_ring_registry_get(f->registry, 0);
}

static unsigned int files_in(const char *folder)
{
    DIR *list = opendir(folder);
    struct dirent *entry;
    unsigned int files = 0;

    assert_non_null(list);
    while ((entry = readdir(list)) != NULL) {
        files += entry->d_name[0] != '.';
    }
    closedir(list);
    return files;
}

static void attach(uint32_t flags)
{
    struct ntk_hooks_config config = {
        .instance_type = "trn1.2xlarge",
        .runtime_version = "2.31.24.0",
        .framework_version = "7.8.9",
        .framework_type = 2,
        .lnc = 1,
        .device_count = 1,
        .cores_per_device = 2,
        .process_flags = NTK_PROCESS_SOFTWARE_CORE,
        .flags = flags,
    };
    char note[256];

    CHECK(ntk_hooks_attach(&config, note, sizeof note) == 0);
    CHECK(note[0] == '\0');
    CHECK(ntk_hooks_segment_path() != NULL);
}

static struct ntk_hooks_model_ref load(uint32_t id, uint16_t core)
{
    struct ntk_hooks_model model = { .id = id,
                                     .name = "mlp",
                                     .neff_path = "/models/mlp.neff",
                                     .uuid = { 1, 2, 3 },
                                     .core = core,
                                     .core_count = 1 };
    struct ntk_hooks_model_ref ref;

    ntk_hooks_model_begin(&model, &ref);
    ntk_hooks_model_loaded(ref, ntk_hooks_now(), 0, 1000);
    return ref;
}

static void execute(struct ntk_hooks_model_ref model, uint16_t core, uint32_t status, uint64_t id)
{
    struct ntk_hooks_exec_core did = {
        .engine_busy_ns = { 100, 50, 0, 0, 0, 20 },
        .engine_busy_device_ns = { 10, 5, 0, 0, 0, 2 },
        .engine_instructions = { 7, 3, 0, 0, 0, 4 },
        .flops = 1000,
        .effective_flops = 900,
        .hbm_bytes_read = 64,
        .hbm_bytes_written = 32,
        .dma_bytes = 96,
        .tensor_matmul_ns = 6,
        .tensor_weights_ns = 4,
    };
    struct ntk_hooks_exec exec = { .model = model,
                                   .execution_id = id,
                                   .call_start_ticks = ntk_hooks_now(),
                                   .device_ns = 12,
                                   .status = status,
                                   .core = core,
                                   .core_count = 1,
                                   .per_core = &did };

    exec.core_start_ticks = ntk_hooks_exec_begin(model, core, 1);
    while (ntk_hooks_ticks_to_ns(ntk_hooks_now() - exec.core_start_ticks) < 10) {
        /* on a fast machine it would take less than a ns, which is no time */
    }
    ntk_hooks_exec_end(&exec);
}

/* ---- what a process is ---- */

static int child_waits(struct observed *child, void *ctx)
{
    (void)ctx;
    setenv("NEURON_PROCESS_TAG", "train\n1", 1);
    attach(0);
    observed_send(child, 0);
    (void)observed_receive(child);
    ntk_hooks_detach();
    return 0;
}

static void a_process_says_what_it_is_and_a_clean_end_removes_its_file(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_waits, NULL);
    struct ntk_ring_process process;
    struct ntk_ring_registry *passer_by;
    struct ntk_ring_options options = { .folder = f->folder };

    (void)observed_receive(&child);
    assert_int_equal(ntk_ring_registry_open(&options, &passer_by, NULL), 0);
    assert_int_equal(ntk_ring_registry_poll(passer_by, NULL, NULL), 0);
    assert_int_equal(ntk_ring_registry_count(passer_by), 1);
    ntk_ring_segment_process(ntk_ring_registry_get(passer_by, 0), &process);

    assert_int_equal(process.pid, child.pid);
    assert_int_equal(process.own_pid, child.pid);
    assert_int_equal(process.uid, geteuid());
    assert_string_equal(process.tag, "train?1"); /* as it may stand on a terminal */
    assert_string_equal(process.instance_type, "trn1.2xlarge");
    assert_string_equal(process.runtime_version, "2.31.24.0");
    assert_int_equal(process.framework_type, 2);
    assert_int_equal(process.mode, 2);
    assert_int_equal(process.cores_per_device, 2);
    assert_false(process.clean_exit);

    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(files_in(f->folder), 0);
    assert_int_equal(ntk_ring_registry_poll(passer_by, NULL, NULL), 0);
    assert_int_equal(ntk_ring_segment_state(ntk_ring_registry_get(passer_by, 0)),
                     NTK_SEGMENT_ENDED);
    ntk_ring_registry_close(passer_by);
}

static void a_file_that_a_reader_holds_waits_for_it_after_a_clean_end(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_waits, NULL);
    struct ntk_ring_options options = { .folder = f->folder, .reap = true, .remembers = true };
    struct ntk_ring_registry *agent;
    struct ntk_ring_process process;

    (void)observed_receive(&child);
    (void)only_segment(f); /* holds byte 1 */
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(files_in(f->folder), 1);

    assert_int_equal(ntk_ring_registry_open(&options, &agent, NULL), 0);
    assert_int_equal(ntk_ring_registry_poll(agent, NULL, NULL), 0);
    assert_int_equal(ntk_ring_registry_count(agent), 1);
    ntk_ring_segment_process(ntk_ring_registry_get(agent, 0), &process);
    assert_true(process.clean_exit);
    assert_int_equal(ntk_ring_segment_state(ntk_ring_registry_get(agent, 0)), NTK_SEGMENT_ENDED);
    ntk_ring_registry_release(agent, ntk_ring_registry_ended_count(agent));
    for (int i = 0; i < 4; i++) { /* until the other has let go */
        assert_int_equal(ntk_ring_registry_poll(f->registry, NULL, NULL), 0);
        assert_int_equal(ntk_ring_registry_poll(agent, NULL, NULL), 0);
    }
    assert_int_equal(files_in(f->folder), 0);
    assert_int_equal(ntk_ring_registry_count(agent), 0);
    ntk_ring_registry_close(agent);
}

/* ---- executions ---- */

static const uint32_t all_statuses[] = { 0,    1,    2,    3,    4,    5,    6,    7,
                                         101,  1002, 1003, 1004, 1005, 1006, 1200, 1201,
                                         1202, 1203, 1204, 1205, 1206, 4242 };
#define STATUS_COUNT (sizeof all_statuses / sizeof all_statuses[0])

static int child_executes_every_status(struct observed *child, void *ctx)
{
    struct ntk_hooks_model_ref model;
    size_t i;

    (void)ctx;
    attach(0);
    ntk_hooks_core_claim(1, 1, 1);
    model = load(10001, 1);
    for (i = 0; i < STATUS_COUNT; i++) {
        enum ntk_outcome outcome = ntk_outcome_of_status(all_statuses[i]);

        if (outcome == NTK_OUTCOME_INCORRECT_INPUT || outcome == NTK_OUTCOME_FAILED_TO_QUEUE) {
            struct ntk_hooks_exec exec = { .model = model,
                                           .execution_id = i,
                                           .call_start_ticks = ntk_hooks_now(),
                                           .status = all_statuses[i],
                                           .core = 1 };

            ntk_hooks_exec_refused(&exec);
        } else {
            execute(model, 1, all_statuses[i], i);
        }
    }
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

struct seen {
    uint64_t by_kind[NTK_EVENT_KIND_COUNT];
    uint64_t all;
    uint64_t bad;
    struct ntk_slot last[NTK_EVENT_KIND_COUNT];
};

static void see(const struct ntk_ring_segment *segment, const struct ntk_slot *slots, size_t count,
                void *ctx)
{
    struct seen *seen = ctx;
    size_t i;

    (void)segment;
    for (i = 0; i < count; i++) {
        seen->all++;
        if (slots[i].kind < NTK_EVENT_KIND_COUNT) {
            seen->by_kind[slots[i].kind]++;
            seen->last[slots[i].kind] = slots[i];
        } else {
            seen->bad++;
        }
    }
}

static uint64_t sum(const uint64_t *values, size_t count)
{
    uint64_t all = 0;

    while (count-- > 0) {
        all += values[count];
    }
    return all;
}

static int child_executes_an_estimated_model(struct observed *child, void *ctx)
{
    struct ntk_hooks_model model = { .id = 10001,
                                     .name = "opaque",
                                     .neff_path = "",
                                     .core = 1,
                                     .core_count = 1,
                                     .flags = NTK_PROCESS_ESTIMATED };
    struct ntk_hooks_model_ref ref;

    (void)ctx;
    attach(0);
    ntk_hooks_core_claim(1, 1, 1);
    ntk_hooks_model_begin(&model, &ref);
    ntk_hooks_model_loaded(ref, ntk_hooks_now(), 0, 1000);
    execute(ref, 1, 0, 1);
    execute(load(10002, 1), 1, 0, 2);
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void what_is_estimated_enters_no_histogram(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_executes_an_estimated_model, NULL);
    static struct ntk_ring_histogram histogram;
    struct ntk_ring_model models[2];
    struct ntk_ring_core core;

    (void)observed_receive(&child);
    struct ntk_ring_segment *segment = only_segment(f);
    assert_int_equal(ntk_ring_segment_cores(segment, &core, 1), 1);
    assert_int_equal(core.counters.outcome[NTK_OUTCOME_COMPLETED], 2);
    assert_int_equal(ntk_ring_segment_core_histogram(segment, 1, &histogram), 0);
    assert_int_equal(sum(histogram.total.bucket, NTK_HISTOGRAM_BUCKETS), 1);
    assert_int_equal(sum(histogram.device.bucket, NTK_HISTOGRAM_BUCKETS), 1);
    assert_int_equal(ntk_ring_segment_models(segment, models, 2), 2);
    for (size_t i = 0; i < 2; i++) {
        bool is_estimated = models[i].id == 10001;
        assert_int_equal(models[i].executions, 1);
        assert_int_equal(ntk_ring_segment_model_histogram(segment, &models[i], &histogram),
                         is_estimated ? -ENOENT : 0);
    }
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static void every_execution_has_one_outcome_and_at_most_one_error_class(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_executes_every_status, NULL);
    struct ntk_ring_segment *segment;
    static struct ntk_ring_histogram histogram;
    struct ntk_ring_model model;
    struct ntk_ring_core core;
    struct seen seen = { 0 };
    uint64_t outcome[NTK_OUTCOME_COUNT] = { 0 };
    uint64_t class[NTK_ERROR_CLASS_COUNT] = { 0 };
    uint64_t on_core;
    size_t i;

    (void)observed_receive(&child);
    segment = only_segment(f);
    for (i = 0; i < STATUS_COUNT; i++) {
        outcome[ntk_outcome_of_status(all_statuses[i])]++;
        if (ntk_error_class_of_status(all_statuses[i]) != NTK_ERROR_CLASS_NONE) {
            class[ntk_error_class_of_status(all_statuses[i])]++;
        }
    }
    on_core =
        STATUS_COUNT - outcome[NTK_OUTCOME_INCORRECT_INPUT] - outcome[NTK_OUTCOME_FAILED_TO_QUEUE];

    assert_int_equal(ntk_ring_segment_cores(segment, &core, 1), 1);
    assert_int_equal(core.core, 1);
    assert_true(core.owned);
    assert_int_equal(core.in_flight, 0);
    assert_memory_equal(core.counters.outcome, outcome, sizeof outcome);
    assert_memory_equal(core.counters.error_class, class, sizeof class);
    assert_int_equal(sum(core.counters.status, NTK_STATUS_COUNT), STATUS_COUNT);
    assert_int_equal(core.counters.status[NTK_STATUS_HW_DMA_ABORT], 1);
    assert_true(core.failing_since_ns > 0);
    assert_int_equal(core.counters.status[NTK_STATUS_INVALID], 2);
    assert_int_equal(core.counters.flops, 1000 * on_core);
    assert_int_equal(core.counters.effective_flops, 900 * on_core);
    assert_int_equal(core.counters.engine_busy_ns[NTK_ENGINE_ACT], 50 * on_core);
    assert_int_equal(core.counters.engine_instructions[NTK_ENGINE_PE], 7 * on_core);
    assert_int_equal(core.counters.dma_descriptors, 4 * on_core);
    assert_int_equal(core.counters.dma_bytes, 96 * on_core);
    assert_int_equal(core.counters.tensor_engine_ns[2], 2 * on_core);
    assert_int_equal(core.counters.model_load_count, 1);

    assert_int_equal(ntk_ring_segment_core_histogram(segment, 1, &histogram), 0);
    assert_int_equal(sum(histogram.total.bucket, NTK_HISTOGRAM_BUCKETS), on_core);
    assert_int_equal(sum(histogram.device.bucket, NTK_HISTOGRAM_BUCKETS), on_core);
    /* the part in use has them all, and is not everything */
    assert_int_equal(sum(histogram.total.bucket + histogram.total.first,
                         histogram.total.end - histogram.total.first),
                     on_core);
    assert_in_range(histogram.total.end - histogram.total.first, 1, NTK_HISTOGRAM_BUCKETS - 1);
    assert_true(histogram.total.sum_ns >= histogram.device.sum_ns);
    assert_int_equal(ntk_ring_segment_core_histogram(segment, 0, &histogram), -ENOENT);

    assert_int_equal(ntk_ring_segment_models(segment, &model, 1), 1);
    assert_int_equal(model.id, 10001);
    assert_string_equal(model.name, "mlp");
    assert_string_equal(model.neff_path, "/models/mlp.neff");
    assert_int_equal(model.state, NTK_MODEL_LOADED);
    assert_int_equal(model.executions, on_core);
    assert_int_equal(model.errors, STATUS_COUNT - 1);
    assert_int_equal(model.effective_flops, 900 * on_core);
    assert_int_equal(model.running, 0);
    assert_int_equal(ntk_ring_segment_model_histogram(segment, &model, &histogram), 0);
    assert_int_equal(sum(histogram.total.bucket, NTK_HISTOGRAM_BUCKETS), on_core);

    (void)ntk_ring_segment_drain(segment, 0, see, &seen);
    assert_int_equal(seen.by_kind[NTK_EVENT_EXEC], STATUS_COUNT);
    assert_int_equal(seen.by_kind[NTK_EVENT_ENGINE], 3 * on_core);
    assert_int_equal(seen.by_kind[NTK_EVENT_MODEL_LOAD], 1);
    assert_int_equal(NTK_WORD_HI(seen.last[NTK_EVENT_EXEC].word[1]), 4242);
    assert_int_equal(seen.last[NTK_EVENT_EXEC].core, 1);
    assert_int_equal(seen.bad, 0);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static int child_runs_long(struct observed *child, void *ctx)
{
    struct ntk_hooks_model_ref model;

    (void)ctx;
    attach(0);
    ntk_hooks_core_claim(0, 0, 1);
    model = load(10001, 0);
    (void)ntk_hooks_exec_begin(model, 0, 1);
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void a_core_is_busy_while_its_execution_runs(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_runs_long, NULL);
    struct ntk_ring_segment *segment;
    struct ntk_ring_core first;
    struct ntk_ring_core second;
    struct ntk_ring_model model;
    uint64_t begin;

    (void)observed_receive(&child);
    segment = only_segment(f);
    assert_int_equal(ntk_ring_segment_cores(segment, &first, 1), 1);
    begin = ntk_hooks_now(); /* detached here: nanoseconds */
    while (ntk_hooks_now() < begin + 3000000) {
    }
    assert_int_equal(ntk_ring_segment_cores(segment, &second, 1), 1);

    assert_int_equal(second.in_flight, 1);
    assert_int_equal(second.current_model, 10001);
    assert_int_equal(second.counters.busy_ns, 0);
    assert_true(second.busy_ns >= first.busy_ns + 2900000);
    assert_int_equal(ntk_ring_segment_models(segment, &model, 1), 1);
    assert_int_equal(model.running, 1);
    assert_int_equal(observed_finish(&child, SIGKILL), 128 + SIGKILL);

    /* Dead: what ran stays counted and does not grow. */
    assert_int_equal(ntk_ring_registry_poll(f->registry, NULL, NULL), 0);
    assert_int_equal(ntk_ring_segment_cores(segment, &first, 1), 1);
    assert_int_equal(ntk_ring_segment_cores(segment, &second, 1), 1);
    assert_int_equal(first.busy_ns, second.busy_ns);
    assert_false(first.owned);
}

/* ---- memory, names, models ---- */

static int child_counts_memory(struct observed *child, void *ctx)
{
    struct ntk_hooks_memory weights = {
        .address = 0x1000, .bytes = 100, .core = 0, .category = NTK_MEMORY_CONSTANTS
    };
    struct ntk_hooks_memory host = { .bytes = 7, .core = 0, .category = NTK_MEMORY_HOST_TENSORS };
    struct ntk_hooks_model_ref model;
    ntk_hooks_row row;
    ntk_hooks_row host_row;

    (void)ctx;
    attach(0);
    model = load(10001, 0);
    weights.model = model;
    weights.name = ntk_hooks_name("layer1/w");
    CHECK(weights.name != 0 && weights.name == ntk_hooks_name("layer1/w"));
    CHECK(ntk_hooks_name("layer2/w") != weights.name);
    CHECK(ntk_hooks_name("") == 0 && ntk_hooks_name(NULL) == 0);
    row = ntk_hooks_memory_alloc(&weights);
    CHECK(ntk_hooks_memory_alloc(&weights) == row);
    host_row = ntk_hooks_memory_alloc(&host);
    ntk_hooks_memory_free(&weights, row);
    observed_send(child, 0);
    (void)observed_receive(child);
    ntk_hooks_memory_free(&weights, row);
    ntk_hooks_memory_free(&host, host_row);
    ntk_hooks_model_unloaded(model, ntk_hooks_now(), 0);
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static int child_starts_and_stops(struct observed *child, void *ctx)
{
    struct ntk_hooks_model_ref model, second;

    (void)ctx;
    ntk_hooks_model_started((struct ntk_hooks_model_ref){ 0 }, 0, 0); /* nobody hears it */
    attach(0);
    model = load(10001, 0);
    second = load(10002, 1);
    ntk_hooks_model_started(model, ntk_hooks_now(), 0);
    execute(model, 0, 0, 1);
    execute(model, 0, 0, 2);
    ntk_hooks_model_switched(model);
    ntk_hooks_model_switched(model);
    ntk_hooks_model_switched(model);
    ntk_hooks_model_stopped(model, ntk_hooks_now(), 0);
    ntk_hooks_model_started(model, ntk_hooks_now(), 0);
    ntk_hooks_model_stopped(model, ntk_hooks_now() - 1000000, 1201);
    observed_send(child, 0);
    (void)observed_receive(child);
    ntk_hooks_model_unloaded(model, ntk_hooks_now(), 0);
    ntk_hooks_model_unloaded(second, ntk_hooks_now(), 0);
    return 0;
}

static void starts_stops_and_switches_are_counted_and_told(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_starts_and_stops, NULL);
    struct ntk_ring_model models[2];
    struct seen seen = { 0 };
    char name[16];

    (void)observed_receive(&child);
    struct ntk_ring_segment *segment = only_segment(f);
    assert_int_equal(ntk_ring_segment_models(segment, models, 2), 2);
    assert_int_equal(models[0].starts, 2);
    assert_int_equal(models[0].stops, 2);
    assert_int_equal(models[0].node_switches, 3);
    assert_int_equal(models[1].starts + models[1].stops + models[1].node_switches, 0);
    (void)ntk_ring_segment_drain(segment, 0, see, &seen);
    assert_int_equal(seen.by_kind[NTK_EVENT_MODEL_START], 2);
    assert_int_equal(seen.by_kind[NTK_EVENT_MODEL_STOP], 2);
    const struct ntk_slot *start = &seen.last[NTK_EVENT_MODEL_START];
    assert_int_equal(NTK_WORD_LO(start->word[1]), 10001);
    assert_int_equal(start->word[2], 2);
    const struct ntk_slot *stop = &seen.last[NTK_EVENT_MODEL_STOP];
    assert_true(stop->word[0] >= 1000000); /* how long it took */
    assert_int_equal(NTK_WORD_LO(stop->word[1]), 10001);
    assert_int_equal(NTK_WORD_HI(stop->word[1]), 1201);
    assert_int_equal(stop->word[2], 2);
    assert_int_equal(stop->word[4], 1);
    assert_int_equal(ntk_ring_segment_text(segment, NTK_WORD_LO(stop->word[3]), name, sizeof name),
                     3);
    assert_string_equal(name, "mlp");
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* The row, or NULL. */
static const struct ntk_ring_memory *find_row(const struct ntk_ring_memory *rows, size_t count,
                                              uint32_t model, uint8_t category)
{
    size_t i;

    for (i = 0; i < count; i++) {
        if (rows[i].model == model && rows[i].category == category && rows[i].core == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static void memory_has_current_and_peak_and_goes_back_to_nothing(void **state)
{
    static struct ntk_ring_memory rows[NTK_SEGMENT_MEMORY_ROWS];
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_counts_memory, NULL);
    const struct ntk_ring_memory *row;
    struct ntk_ring_segment *segment;
    struct ntk_ring_model model;
    struct seen seen = { 0 };
    char text[32];
    size_t count;

    (void)observed_receive(&child);
    segment = only_segment(f);
    count = ntk_ring_segment_memory(segment, rows, NTK_SEGMENT_MEMORY_ROWS);
    row = find_row(rows, count, 10001, NTK_MEMORY_CONSTANTS);
    assert_non_null(row);
    assert_int_equal(row->current_bytes, 100);
    assert_int_equal(row->peak_bytes, 200);
    assert_int_equal(row->alloc_count, 2);
    assert_int_equal(row->location, NTK_MEMORY_DEVICE);
    row = find_row(rows, count, 0, NTK_MEMORY_HOST_TENSORS);
    assert_non_null(row);
    assert_int_equal(row->current_bytes, 7);
    assert_int_equal(row->location, NTK_MEMORY_HOST);

    (void)ntk_ring_segment_drain(segment, 0, see, &seen);
    assert_int_equal(seen.by_kind[NTK_EVENT_MEM_ALLOC], 3);
    assert_int_equal(seen.by_kind[NTK_EVENT_MEM_FREE], 1);
    assert_int_equal(seen.last[NTK_EVENT_MEM_FREE].word[2], 0x1000);
    assert_int_equal(seen.last[NTK_EVENT_MEM_FREE].word[3], 100);
    assert_int_equal(NTK_WORD_LO(seen.last[NTK_EVENT_MEM_FREE].word[4]), NTK_MEMORY_CONSTANTS);
    assert_int_equal(ntk_ring_segment_text(segment,
                                           NTK_WORD_HI(seen.last[NTK_EVENT_MEM_FREE].word[1]), text,
                                           sizeof text),
                     8);
    assert_string_equal(text, "layer1/w");

    observed_send(&child, 0);
    (void)observed_receive(&child);
    count = ntk_ring_segment_memory(segment, rows, NTK_SEGMENT_MEMORY_ROWS);
    assert_null(find_row(rows, count, 10001, NTK_MEMORY_CONSTANTS));
    assert_int_equal(find_row(rows, count, 0, NTK_MEMORY_HOST_TENSORS)->current_bytes, 0);
    assert_int_equal(ntk_ring_segment_models(segment, &model, 1), 1);
    assert_int_equal(model.state, NTK_MODEL_UNLOADED);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* A model with a row on each core goes; what comes then has a row behind its rows. */
static int child_leaves_rows_behind(struct observed *child, void *ctx)
{
    ntk_hooks_row rows[NTK_SEGMENT_CORES];
    struct ntk_hooks_memory memory = { .bytes = 1, .category = NTK_MEMORY_TENSORS };
    struct ntk_hooks_memory later = { .bytes = 9, .core = 0, .category = NTK_MEMORY_HOST_TENSORS };
    uint16_t i;

    (void)ctx;
    attach(0);
    memory.model = load(10001, 0);
    for (i = 0; i < NTK_SEGMENT_CORES; i++) {
        memory.core = i;
        rows[i] = ntk_hooks_memory_alloc(&memory);
    }
    for (i = 0; i < NTK_SEGMENT_CORES; i++) {
        memory.core = i;
        ntk_hooks_memory_free(&memory, rows[i]);
    }
    ntk_hooks_model_unloaded(memory.model, ntk_hooks_now(), 0);
    (void)ntk_hooks_memory_alloc(&later);
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void memory_behind_the_rows_of_a_model_that_went_is_found(void **state)
{
    static struct ntk_ring_memory rows[NTK_SEGMENT_MEMORY_ROWS];
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_leaves_rows_behind, NULL);
    const struct ntk_ring_memory *row;
    size_t count;

    (void)observed_receive(&child);
    count = ntk_ring_segment_memory(only_segment(f), rows, NTK_SEGMENT_MEMORY_ROWS);
    row = find_row(rows, count, 0, NTK_MEMORY_HOST_TENSORS);
    assert_non_null(row);
    assert_int_equal(row->current_bytes, 9);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* More models, names and memory rows than there is room for, then less, then more again. */
static int child_overflows_tables(struct observed *child, void *ctx)
{
    static ntk_hooks_row rows[5000];
    struct ntk_hooks_model_ref models[NTK_SEGMENT_MODELS + 5];
    struct ntk_hooks_memory memory = { .bytes = 1, .category = NTK_MEMORY_TENSORS };
    char name[32];
    uint32_t i;

    (void)ctx;
    attach(0);
    ntk_hooks_core_claim(0, 0, 1);
    for (i = 0; i < NTK_SEGMENT_NAMES + 10; i++) {
        (void)snprintf(name, sizeof name, "name %u", i);
        CHECK((ntk_hooks_name(name) != 0) == (i < NTK_SEGMENT_NAMES - 3)); /* 0; mlp; its path */
        if (i == 0) {
            ntk_hooks_model_unloaded(load(10001, 0), ntk_hooks_now(), 0);
        }
    }
    for (i = 0; i < NTK_SEGMENT_MODELS + 5; i++) {
        models[i] = load(20000 + i, 0);
        CHECK((models[i].slot_plus_one != 0) == (i < NTK_SEGMENT_MODELS));
        execute(models[i], 0, 0, i);
    }
    for (i = 0; i < 5000; i++) {
        memory.core = (uint16_t)(i % 128);
        memory.category = (uint8_t)(i / 128 % 14);
        memory.model = models[i / 1792]; /* 3 models x 14 categories x 128 cores */
        rows[i] = ntk_hooks_memory_alloc(&memory);
        CHECK(rows[i] != 0);
    }
    for (i = 0; i < 5000; i++) {
        ntk_hooks_memory_free(&memory, rows[i]);
    }
    for (i = 0; i < NTK_SEGMENT_MODELS + 5; i++) {
        ntk_hooks_model_unloaded(models[i], ntk_hooks_now(), 0);
    }
    for (i = 0; i < 1000; i++) { /* unload gave rows and slots back */
        models[0] = load(30000 + i, 0);
        CHECK(models[0].slot_plus_one != 0);
        memory.core = 0;
        memory.category = NTK_MEMORY_SCRATCHPAD;
        memory.model = models[0];
        memory.bytes = 5;
        rows[0] = ntk_hooks_memory_alloc(&memory);
        execute(models[0], 0, 0, i);
        if (i < 999) {
            ntk_hooks_memory_free(&memory, rows[0]);
            ntk_hooks_model_unloaded(models[0], ntk_hooks_now(), 0);
        }
    }
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void full_tables_count_with_less_detail_and_say_so(void **state)
{
    static struct ntk_ring_memory rows[NTK_SEGMENT_MEMORY_ROWS];
    static struct ntk_ring_model models[NTK_SEGMENT_MODELS];
    static struct ntk_ring_histogram histogram;
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_overflows_tables, NULL);
    struct ntk_ring_refusals refusals;
    struct ntk_ring_segment *segment;
    struct ntk_ring_core core;
    const struct ntk_ring_memory *row;
    uint64_t bytes = 0;
    size_t count;
    size_t i;

    (void)observed_receive(&child);
    segment = only_segment(f);
    ntk_ring_segment_refusals(segment, &refusals);
    assert_int_equal(refusals.models, 5);
    assert_true(refusals.names >= 13);
    assert_true(refusals.memory_rows > 900);
    assert_int_equal(ntk_ring_segment_cores(segment, &core, 1), 1);
    assert_int_equal(core.counters.outcome[NTK_OUTCOME_COMPLETED], NTK_SEGMENT_MODELS + 5 + 1000);

    count = ntk_ring_segment_memory(segment, rows, NTK_SEGMENT_MEMORY_ROWS);
    for (i = 0; i < count; i++) {
        bytes += rows[i].current_bytes;
    }
    assert_int_equal(bytes, 5);
    row = find_row(rows, count, 30999, NTK_MEMORY_SCRATCHPAD);
    assert_non_null(row);
    assert_int_equal(row->current_bytes, 5);
    assert_int_equal(row->peak_bytes, 5);

    count = ntk_ring_segment_models(segment, models, NTK_SEGMENT_MODELS);
    assert_int_equal(count, NTK_SEGMENT_MODELS);
    for (i = 0; i < count; i++) {
        if (models[i].id == 30999) {
            assert_int_equal(ntk_ring_segment_model_histogram(segment, &models[i], &histogram), 0);
            assert_int_equal(sum(histogram.total.bucket, NTK_HISTOGRAM_BUCKETS),
                             1); /* cleared for it */
        }
    }
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* ---- other records ---- */

static int child_records_the_rest(struct observed *child, void *ctx)
{
    struct ntk_hooks_model_ref none = { 0, 0 };
    struct ntk_hooks_transfer transfer = { .bytes = 4096,
                                           .address = 0x2000,
                                           .offset = 16,
                                           .core = 0,
                                           .direction = NTK_TRANSFER_DEVICE_TO_HOST };
    struct ntk_hooks_error error = { .value = 3,
                                     .error_class = NTK_ERROR_TRANSIENT,
                                     .error_code = NTK_ERROR_CODE_ECC_MEM_CORRECTED,
                                     .core = 0 };
    uint64_t start;

    (void)ctx;
    attach(NTK_HOOKS_CORES_SHARED);
    ntk_hooks_core_claim(0, 0, 1);
    transfer.start_ticks = ntk_hooks_now();
    ntk_hooks_transfer(&transfer);
    ntk_hooks_error(&error);
    start = ntk_hooks_profile_start(none, 0, 7, 0);
    ntk_hooks_profile_stop(none, 0, 7, 0, start, 555, 0);
    ntk_hooks_mark(ntk_hooks_name("step"), 0, NTK_NO_CORE, 11, 12);
    ntk_hooks_core_release(0);
    observed_send(child, ntk_hooks_now());
    (void)observed_receive(child);
    return 0;
}

static void transfers_errors_profiles_and_marks_arrive_with_their_words(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_records_the_rest, NULL);
    struct ntk_ring_segment *segment;
    struct ntk_ring_thread thread;
    struct ntk_ring_core core;
    struct seen seen = { 0 };
    struct timespec now;
    uint64_t realtime;
    uint64_t ticks;
    uint64_t then;
    char text[8];

    ticks = observed_receive(&child);
    segment = only_segment(f);
    clock_gettime(CLOCK_REALTIME, &now);
    (void)ntk_ring_segment_drain(segment, 0, see, &seen);
    assert_int_equal(seen.all, 5);
    assert_int_equal(seen.last[NTK_EVENT_TRANSFER].flags, NTK_TRANSFER_DEVICE_TO_HOST);
    assert_int_equal(seen.last[NTK_EVENT_TRANSFER].word[2], 4096);
    assert_int_equal(seen.last[NTK_EVENT_TRANSFER].word[3], 0x2000);
    assert_int_equal(seen.last[NTK_EVENT_TRANSFER].word[4], 16);
    assert_int_equal(NTK_WORD_HI(seen.last[NTK_EVENT_ERROR].word[3]),
                     NTK_ERROR_CODE_ECC_MEM_CORRECTED);
    assert_int_equal(seen.last[NTK_EVENT_PROFILE_STOP].word[4], 555);
    assert_int_equal(seen.last[NTK_EVENT_MARK].word[2], 11);
    assert_int_equal(seen.last[NTK_EVENT_MARK].word[3], 12);
    assert_int_equal(seen.last[NTK_EVENT_MARK].core, NTK_NO_CORE);
    assert_int_equal(ntk_ring_segment_text(segment, (uint32_t)seen.last[NTK_EVENT_MARK].word[1],
                                           text, sizeof text),
                     4);
    assert_string_equal(text, "step");
    ntk_ring_segment_thread(segment, &seen.last[NTK_EVENT_MARK], &thread);
    assert_int_equal(thread.tid, child.pid);
    assert_true(thread.alive);

    assert_int_equal(ntk_ring_segment_cores(segment, &core, 1), 1);
    assert_false(core.owned);
    assert_int_equal(core.counters.device_to_host_bytes, 4096);
    assert_int_equal(core.counters.error_class[NTK_ERROR_TRANSIENT], 1);

    /* The record's clock is the wall clock's, give or take the time this test took. */
    realtime = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    then = ntk_ring_segment_realtime_ns(segment, ticks);
    assert_true(then < realtime + 1000000000u && then + 60000000000u > realtime);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* ---- modes and bad surroundings ---- */

static int child_runs_in_mode(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 2 };
    char note[256];

    setenv("NEURON_HOOKS", ctx, 1);
    CHECK(ntk_hooks_attach(&config, note, sizeof note) == 0);
    ntk_hooks_core_claim(0, 0, 1);
    execute(load(10001, 0), 0, 0, 1);
    ntk_hooks_mark(1, 0, 0, 0, 0);
    observed_send(child, (uint64_t)note[0]);
    (void)observed_receive(child);
    ntk_hooks_detach();
    return 0;
}

static void counters_mode_counts_and_records_nothing(void **state)
{
    struct fixture *f = *state;
    char mode[] = "counters";
    struct observed child = observed_start(f->folder, child_runs_in_mode, mode);
    struct ntk_ring_refusals refusals;
    struct ntk_ring_segment *segment;
    struct ntk_ring_process process;
    struct ntk_ring_core core;
    struct seen seen = { 0 };

    assert_int_equal(observed_receive(&child), 0);
    segment = only_segment(f);
    ntk_ring_segment_process(segment, &process);
    assert_int_equal(process.mode, 1);
    assert_int_equal(process.lnc, 2);
    assert_int_equal(ntk_ring_segment_cores(segment, &core, 1), 1);
    assert_int_equal(core.counters.outcome[NTK_OUTCOME_COMPLETED], 1);
    assert_int_equal(ntk_ring_segment_drain(segment, 0, see, &seen), 0);
    ntk_ring_segment_refusals(segment, &refusals);
    assert_int_equal(refusals.events_without_ring, 0);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static void switched_off_there_is_no_file(void **state)
{
    struct fixture *f = *state;
    char mode[] = "0";
    struct observed child = observed_start(f->folder, child_runs_in_mode, mode);

    assert_int_equal(observed_receive(&child), 0);
    assert_int_equal(files_in(f->folder), 0);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static void an_unknown_mode_is_said_and_means_all(void **state)
{
    struct fixture *f = *state;
    char mode[] = "yes";
    struct observed child = observed_start(f->folder, child_runs_in_mode, mode);

    assert_int_equal(observed_receive(&child), 'N');
    assert_int_equal(files_in(f->folder), 1);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static int child_has_no_folder(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    char note[256];

    (void)child;
    setenv("NEURON_HOOKS_DIR", ctx, 1);
    CHECK(ntk_hooks_attach(&config, note, sizeof note) < 0);
    CHECK(strncmp(note, "cannot make /proc/none", 22) == 0);
    CHECK(ntk_hooks_segment_path() == NULL);
    ntk_hooks_core_claim(0, 0, 1);
    execute(load(10001, 0), 0, 0, 1);
    CHECK(ntk_hooks_memory_alloc(&(struct ntk_hooks_memory){ .bytes = 1 }) == 0);
    ntk_hooks_detach();
    return 0;
}

static void without_a_folder_the_program_goes_on_unobserved(void **state)
{
    char nowhere[] = "/proc/none";
    struct observed child = observed_start(NULL, child_has_no_folder, nowhere);

    assert_int_equal(observed_finish(&child, 0), 0);
}

static int child_is_told_nothing(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    char note[256];

    (void)child;
    setenv("NEURON_HOOKS_DIR", ctx, 1);
    CHECK(ntk_hooks_attach(&config, note, sizeof note) == 0);
    CHECK(note[0] == '\0');
    ntk_hooks_detach();
    return 0;
}

/* Such as the toolkit itself would choose beside a folder that somebody else took. */
static void a_folder_that_the_user_names_is_nobody_elses(void **state)
{
    char folder[NTK_PATH_BYTES];

    (void)snprintf(folder, sizeof folder, NTK_HOOKS_PARENT "/" NTK_HOOKS_USER_PREFIX "%u.test-%d",
                   (unsigned)geteuid(), (int)getpid());
    struct observed child = observed_start(NULL, child_is_told_nothing, folder);
    int result = observed_finish(&child, 0);
    (void)rmdir(folder);
    assert_int_equal(result, 0);
}

#define SKIPPED 77

/* In a mount namespace of its own, where another user made the folder of this one first. */
static int child_has_a_taken_folder(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    char usual[NTK_PATH_BYTES];
    char expected[NTK_PATH_BYTES];
    char note[256];

    (void)child;
    (void)ctx;
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", NTK_HOOKS_PARENT, "tmpfs", 0, "mode=1777") != 0) {
        return SKIPPED;
    }
    unsetenv("NEURON_HOOKS_DIR");
    (void)snprintf(usual, sizeof usual, NTK_HOOKS_PARENT "/" NTK_HOOKS_USER_PREFIX "%u",
                   (unsigned)geteuid());
    CHECK(mkdir(usual, 0755) == 0 && chown(usual, 65534, 65534) == 0);
    CHECK(ntk_hooks_attach(&config, note, sizeof note) == 0);
    (void)snprintf(expected, sizeof expected, "%s belongs to someone else; using %s.", usual,
                   usual);
    CHECK(strncmp(note, expected, strlen(expected)) == 0);
    CHECK(strncmp(ntk_hooks_segment_path(), note + strlen(expected) - strlen(usual) - 1,
                  strlen(usual) + 1) == 0);
    ntk_hooks_detach();
    return 0;
}

static void a_folder_that_somebody_else_took_is_named_with_the_one_used_instead(void **state)
{
    struct observed child = observed_start(NULL, child_has_a_taken_folder, NULL);
    int result = observed_finish(&child, 0);

    if (result == SKIPPED) {
        skip();
    }
    assert_int_equal(result, 0);
}

static int child_has_little_file_size(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    struct rlimit limit = { 100000, 100000 };
    char note[256];

    (void)child;
    (void)ctx;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(ntk_hooks_attach(&config, note, sizeof note) == -EFBIG);
    CHECK(strstr(note, "leaves no room") != NULL);
    execute(load(10001, 0), 0, 0, 1);
    return 0;
}

static void a_small_limit_of_file_sizes_means_no_segment_and_no_signal(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_has_little_file_size, NULL);

    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(files_in(f->folder), 0);
}

#define ROUNDS 8
#define THREADS 64
#define MARKS 25 /* all of them fit into one ring, should one thread after the other take it */

static void *mark_many(void *ctx)
{
    pthread_barrier_t *together = ctx;
    int i;

    if (together != NULL) {
        ntk_hooks_mark(1, 0, 0, 0, 0);
        pthread_barrier_wait(together); /* so many rings at once */
    }
    for (i = 0; i < MARKS; i++) {
        ntk_hooks_mark(1, 0, 0, (uint64_t)i, 0);
    }
    return NULL;
}

static int child_has_some_file_size(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    struct rlimit limit = { 16000000, 16000000 };
    char note[256];

    (void)ctx;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(ntk_hooks_attach(&config, note, sizeof note) == 0);
    CHECK(strstr(note, "for events") != NULL);
    mark_many(NULL);
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void a_middling_limit_of_file_sizes_means_fewer_events(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_has_some_file_size, NULL);
    struct ntk_ring_refusals refusals;
    struct seen seen = { 0 };

    (void)observed_receive(&child);
    (void)ntk_ring_segment_drain(only_segment(f), 0, see, &seen);
    assert_int_equal(seen.all, MARKS);
    ntk_ring_segment_refusals(ntk_ring_registry_get(f->registry, 0), &refusals);
    assert_int_equal(refusals.rings_shrunk, 1);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static int child_goes_elsewhere(struct observed *child, void *ctx)
{
    (void)child;
    CHECK(chdir(ctx) == 0 && mkdir("here", 0700) == 0);
    setenv("NEURON_HOOKS_DIR", "here", 1);
    attach(0);
    CHECK(chdir("/") == 0);
    ntk_hooks_detach();
    return 0;
}

static void a_program_that_changes_its_folder_leaves_no_file(void **state)
{
    struct fixture *f = *state;
    char *here = test_scratch_path(f->folder, "here");
    struct observed child = observed_start(NULL, child_goes_elsewhere, f->folder);

    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(files_in(here), 0);
    free(here);
}

static void *mark_once_and_wait(void *ctx)
{
    pthread_barrier_t *barrier = ctx;

    ntk_hooks_mark(1, 0, 0, 0, 0);
    pthread_barrier_wait(barrier);
    return NULL;
}

static int child_has_little_memory(struct observed *child, void *ctx)
{
    pthread_barrier_t barrier;
    pthread_t threads[5];
    int i;

    (void)ctx;
    setenv("NEURON_HOOKS_MEMORY", "128K", 1); /* two rings of 1,024 slots */
    attach(0);
    pthread_barrier_init(&barrier, NULL, 5);
    for (i = 0; i < 5; i++) {
        CHECK(pthread_create(&threads[i], NULL, mark_once_and_wait, &barrier) == 0);
    }
    for (i = 0; i < 5; i++) {
        pthread_join(threads[i], NULL);
    }
    ntk_hooks_mark(1, 0, 0, 0, 0); /* their rings are free again */
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void with_little_memory_some_threads_have_no_ring_and_that_is_counted(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_has_little_memory, NULL);
    struct ntk_ring_refusals refusals;
    struct ntk_ring_segment *segment;
    struct seen seen = { 0 };

    (void)observed_receive(&child);
    segment = only_segment(f);
    (void)ntk_ring_segment_drain(segment, 0, see, &seen);
    ntk_ring_segment_refusals(segment, &refusals);
    assert_int_equal(seen.by_kind[NTK_EVENT_MARK], 3);
    assert_int_equal(refusals.events_without_ring, 3);
    assert_int_equal(refusals.rings_shrunk, 2);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* ---- threads, signals, forks ---- */

static int child_has_many_threads(struct observed *child, void *ctx)
{
    pthread_t threads[THREADS];
    pthread_barrier_t together;
    int round;
    int i;

    (void)ctx;
    setenv("NEURON_HOOKS_MEMORY", "64M", 1);
    pthread_barrier_init(&together, NULL, THREADS);
    attach(0);
    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < THREADS; i++) {
            CHECK(pthread_create(&threads[i], NULL, mark_many, round % 2 ? &together : NULL) == 0);
        }
        for (i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void rings_of_ended_threads_are_used_again_and_nothing_is_lost(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_has_many_threads, NULL);
    struct ntk_ring_refusals refusals;
    struct ntk_ring_segment *segment;
    struct seen seen = { 0 };
    uint64_t published;
    uint64_t read;
    uint64_t lost;

    (void)observed_receive(&child);
    segment = only_segment(f);
    (void)ntk_ring_segment_drain(segment, 0, see, &seen);
    ntk_ring_segment_refusals(segment, &refusals);
    ntk_ring_segment_events(segment, &read, &lost, &published);
    assert_int_equal(seen.by_kind[NTK_EVENT_MARK], ROUNDS * THREADS * MARKS + ROUNDS / 2 * THREADS);
    assert_int_equal(read, published);
    assert_int_equal(lost, 0);
    assert_int_equal(refusals.events_without_ring, 0);
    assert_int_equal(refusals.threads, 0); /* entries of ended threads too */
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static volatile uint64_t marks_in_handler;

static void mark_in_handler(int number)
{
    (void)number;
    ntk_hooks_mark(1, 0, 0, 0, 0);
    marks_in_handler++;
}

/* Marks while a timer interrupts it, until the parent has seen enough. */
static int child_is_interrupted(struct observed *child, void *ctx)
{
    struct itimerval often = { { 0, 100 }, { 0, 100 } };
    struct itimerval never = { { 0, 0 }, { 0, 0 } };
    struct pollfd told = { child->in, POLLIN, 0 };
    struct sigaction action;
    uint64_t marks = 1;

    (void)ctx;
    memset(&action, 0, sizeof action);
    action.sa_handler = mark_in_handler;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    attach(0);
    ntk_hooks_mark(1, 0, 0, 0, 0);
    observed_send(child, 0);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    while (poll(&told, 1, 0) <= 0) {
        int i;

        for (i = 0; i < 10000; i++) {
            ntk_hooks_mark(1, 0, 0, 0, 0);
        }
        marks += 10000;
    }
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    (void)signal(SIGALRM, SIG_IGN);
    (void)observed_receive(child);
    observed_send(child, marks + marks_in_handler);
    (void)observed_receive(child);
    return 0;
}

static int has_dropped_in_a_signal(void *ctx)
{
    struct ntk_ring_refusals refusals;

    ntk_ring_segment_refusals(ctx, &refusals);
    return refusals.events_in_signals > 0;
}

static void a_record_in_a_signal_handler_is_published_or_counted_dropped(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_is_interrupted, NULL);
    const char *sanitizer = getenv("NTK_SANITIZE");
    struct ntk_ring_refusals refusals;
    struct ntk_ring_segment *segment;
    struct seen seen = { 0 };
    uint64_t published;
    uint64_t marks;
    uint64_t read;
    uint64_t lost;

    (void)observed_receive(&child);
    segment = only_segment(f);
    if (!test_is_emulated() && (sanitizer == NULL || strcmp(sanitizer, "thread") != 0)) {
        /* Both of them delay signals. */
        assert_int_equal(test_wait_until(has_dropped_in_a_signal, segment), 1);
    }
    observed_send(&child, 0);
    marks = observed_receive(&child);
    (void)ntk_ring_segment_drain(segment, 0, see, &seen);
    ntk_ring_segment_refusals(segment, &refusals);
    ntk_ring_segment_events(segment, &read, &lost, &published);
    assert_int_equal(published + refusals.events_in_signals, marks);
    assert_int_equal(read + lost, published);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static int child_forks(struct observed *child, void *ctx)
{
    char parents[512];
    int status;
    pid_t pid;

    (void)ctx;
    attach(0);
    ntk_hooks_core_claim(0, 0, 1);
    ntk_hooks_mark(1, 0, 0, 0, 0);
    (void)snprintf(parents, sizeof parents, "%s", ntk_hooks_segment_path());
    pid = fork();
    if (pid == 0) {
        CHECK(ntk_hooks_segment_path() == NULL);
        CHECK(!ntk_hooks_counters_on());
        ntk_hooks_mark(1, 0, 0, 0, 0);
        execute(load(10002, 0), 0, 0, 1);
        ntk_hooks_detach();
        CHECK(access(parents, F_OK) == 0);
        attach(0);
        CHECK(strcmp(parents, ntk_hooks_segment_path()) != 0);
        ntk_hooks_mark(1, 0, 0, 0, 0);
        ntk_hooks_detach();
        exit(0); /* with all destructors, as a Python worker ends */
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(access(parents, F_OK) == 0);
    ntk_hooks_mark(1, 0, 0, 0, 0);
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void a_forks_child_never_touches_its_parents_segment(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_forks, NULL);
    struct ntk_ring_segment *segment;
    struct ntk_ring_process process;
    struct ntk_ring_core core;
    struct seen seen = { 0 };

    (void)observed_receive(&child);
    segment = only_segment(f); /* the parent's lock survived its child */
    ntk_ring_segment_process(segment, &process);
    assert_int_equal(process.pid, child.pid);
    assert_int_equal(ntk_ring_segment_state(segment), NTK_SEGMENT_ALIVE);
    (void)ntk_ring_segment_drain(segment, 0, see, &seen);
    assert_int_equal(seen.all, 2);
    assert_int_equal(ntk_ring_segment_cores(segment, &core, 1), 1);
    assert_int_equal(core.counters.outcome[NTK_OUTCOME_COMPLETED], 0);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static int child_attaches_twice(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    int i;

    (void)ctx;
    for (i = 0; i < 3; i++) {
        attach(0);
        CHECK(ntk_hooks_attach(&config, NULL, 0) == -EALREADY);
        ntk_hooks_mark(1, 0, 0, 0, 0);
        mark_many(NULL);
        if (i < 2) {
            ntk_hooks_detach();
            ntk_hooks_detach();
            ntk_hooks_mark(1, 0, 0, 0, 0);
        }
    }
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void a_process_may_end_and_begin_again(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_attaches_twice, NULL);
    struct seen seen = { 0 };

    (void)observed_receive(&child);
    (void)ntk_ring_segment_drain(only_segment(f), 0, see, &seen);
    assert_int_equal(seen.all, 1 + MARKS);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static int child_closes_everything(struct observed *child, void *ctx)
{
    int fd;

    (void)ctx;
    attach(0);
    for (fd = 3; fd < 2000; fd++) {
        if (fd != child->in && fd != child->out) {
            close(fd);
        }
    }
    ntk_hooks_mark(1, 0, 0, 0, 0);
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void a_daemon_that_closed_all_descriptors_still_lives(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    int i;

    if (test_is_emulated()) {
        skip(); /* nobody sees the start time that the process sees */
    }
    child = observed_start(f->folder, child_closes_everything, NULL);
    (void)observed_receive(&child);
    for (i = 0; i < 4; i++) {
        assert_int_equal(ntk_ring_segment_state(only_segment(f)), NTK_SEGMENT_ALIVE);
    }
    assert_int_equal(observed_finish(&child, SIGKILL), 128 + SIGKILL);
    assert_int_equal(ntk_ring_segment_state(only_segment(f)), NTK_SEGMENT_ENDED);
}

/* ---- the hot path ---- */

/* From now on any system call but exit kills the process. (Strict mode would also take away the
 * time stamp counter.) */
static void forbid_system_calls(void)
{
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = { 4, instructions };

    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static int child_may_not_call_the_system(struct observed *child, void *ctx)
{
    struct ntk_hooks_memory memory = { .bytes = 64, .category = NTK_MEMORY_TENSORS };
    struct ntk_hooks_model_ref model;
    struct rusage before;
    struct rusage after;
    ntk_hooks_row row;
    uint64_t i;

    (void)ctx;
    attach(0);
    ntk_hooks_core_claim(0, 0, 1);
    model = load(10001, 0);
    memory.name = ntk_hooks_name("x");
    row = ntk_hooks_memory_alloc(&memory);
    execute(model, 0, 0, 0);
    CHECK(getrusage(RUSAGE_SELF, &before) == 0);
    for (i = 0; i < 20000; i++) {
        execute(model, 0, 0, i);
    }
    CHECK(getrusage(RUSAGE_SELF, &after) == 0);
    observed_send(child, (uint64_t)(after.ru_minflt - before.ru_minflt));
    forbid_system_calls();
    for (i = 0; i < 50000; i++) {
        execute(model, 0, i % 10 ? 0 : 1003, i);
        ntk_hooks_memory_free(&memory, row);
        row = ntk_hooks_memory_alloc(&memory);
    }
    syscall(SYS_exit, 0);
    return 1;
}

static void after_attach_there_are_no_system_calls_and_no_page_faults(void **state)
{
    const char *sanitizer = getenv("NTK_SANITIZE");
    struct fixture *f = *state;
    struct observed child;

    if ((sanitizer != NULL && sanitizer[0] != '\0') || getenv("NTK_UNDER_VALGRIND") != NULL ||
        test_is_emulated()) {
        skip(); /* the sanitizer's own calls are not ours */
    }
    child = observed_start(f->folder, child_may_not_call_the_system, NULL);
    assert_true(observed_receive(&child) < 20); /* of 80,000 records */
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* ---- sweeping ---- */

static int child_dies_unfinished(struct observed *child, void *ctx)
{
    (void)child;
    (void)ctx;
    attach(0);
    ntk_hooks_mark(1, 0, 0, 0, 0);
    (void)raise(SIGKILL);
    return 1;
}

static void set_age(const char *folder, int seconds)
{
    DIR *list = opendir(folder);
    struct dirent *entry;

    assert_non_null(list);
    while ((entry = readdir(list)) != NULL) {
        struct timespec times[2];

        if (entry->d_name[0] != '.') {
            clock_gettime(CLOCK_REALTIME, &times[0]);
            times[0].tv_sec -= seconds;
            times[1] = times[0];
            assert_int_equal(utimensat(dirfd(list), entry->d_name, times, 0), 0);
        }
    }
    closedir(list);
}

static int child_only_attaches(struct observed *child, void *ctx)
{
    (void)child;
    (void)ctx;
    attach(0);
    ntk_hooks_detach();
    return 0;
}

static void a_start_sweeps_old_dead_segments_that_nobody_holds(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_dies_unfinished, NULL);

    assert_int_equal(observed_finish(&child, 0), 128 + SIGKILL);
    assert_int_equal(files_in(f->folder), 1);

    child = observed_start(f->folder, child_only_attaches, NULL);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(files_in(f->folder), 1); /* too young */

    set_age(f->folder, 120);
    child = observed_start(f->folder, child_only_attaches, NULL);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(files_in(f->folder), 0);
}

/* Killed between making its file and the magic: nothing in it is worth a minute. */
static void a_start_sweeps_what_was_killed_before_it_was_ready(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    char *path = test_scratch_path(f->folder, "17-1");
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    assert_true(fd >= 0 && ftruncate(fd, 4096) == 0 && close(fd) == 0);
    child = observed_start(f->folder, child_only_attaches, NULL);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(files_in(f->folder), 1); /* its writer may be about to lock it */

    set_age(f->folder, 5);
    child = observed_start(f->folder, child_only_attaches, NULL);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(files_in(f->folder), 0);
    free(path);
}

/* As in a container whose first process waits for nobody. */
static void a_start_sweeps_what_a_killed_process_left_that_nobody_waited_for(void **state)
{
    struct fixture *f = *state;
    struct observed killed = observed_start(f->folder, child_dies_unfinished, NULL);
    struct observed child;
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)killed.pid, &info, WEXITED | WNOWAIT), 0);
    set_age(f->folder, 120);
    child = observed_start(f->folder, child_only_attaches, NULL);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(files_in(f->folder), 0);
    assert_int_equal(observed_finish(&killed, 0), 128 + SIGKILL);
}

static void a_start_sweeps_nothing_that_lives(void **state)
{
    struct fixture *f = *state;
    struct observed living;
    struct observed child;

    if (test_is_emulated()) {
        skip(); /* nobody sees the start time that the process sees */
    }
    living = observed_start(f->folder, child_closes_everything, NULL);
    (void)observed_receive(&living);
    set_age(f->folder, 120);
    child = observed_start(f->folder, child_only_attaches, NULL);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(files_in(f->folder), 1);
    observed_send(&living, 0);
    assert_int_equal(observed_finish(&living, 0), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_process_says_what_it_is_and_a_clean_end_removes_its_file),
        TEST(a_file_that_a_reader_holds_waits_for_it_after_a_clean_end),
        TEST(every_execution_has_one_outcome_and_at_most_one_error_class),
        TEST(what_is_estimated_enters_no_histogram),
        TEST(a_core_is_busy_while_its_execution_runs),
        TEST(starts_stops_and_switches_are_counted_and_told),
        TEST(memory_has_current_and_peak_and_goes_back_to_nothing),
        TEST(memory_behind_the_rows_of_a_model_that_went_is_found),
        TEST(full_tables_count_with_less_detail_and_say_so),
        TEST(transfers_errors_profiles_and_marks_arrive_with_their_words),
        TEST(counters_mode_counts_and_records_nothing),
        TEST(switched_off_there_is_no_file),
        TEST(an_unknown_mode_is_said_and_means_all),
        TEST(without_a_folder_the_program_goes_on_unobserved),
        TEST(a_folder_that_the_user_names_is_nobody_elses),
        TEST(a_folder_that_somebody_else_took_is_named_with_the_one_used_instead),
        TEST(a_small_limit_of_file_sizes_means_no_segment_and_no_signal),
        TEST(a_middling_limit_of_file_sizes_means_fewer_events),
        TEST(a_program_that_changes_its_folder_leaves_no_file),
        TEST(with_little_memory_some_threads_have_no_ring_and_that_is_counted),
        TEST(rings_of_ended_threads_are_used_again_and_nothing_is_lost),
        TEST(a_record_in_a_signal_handler_is_published_or_counted_dropped),
        TEST(a_forks_child_never_touches_its_parents_segment),
        TEST(a_process_may_end_and_begin_again),
        TEST(a_daemon_that_closed_all_descriptors_still_lives),
        TEST(after_attach_there_are_no_system_calls_and_no_page_faults),
        TEST(a_start_sweeps_old_dead_segments_that_nobody_holds),
        TEST(a_start_sweeps_what_was_killed_before_it_was_ready),
        TEST(a_start_sweeps_what_a_killed_process_left_that_nobody_waited_for),
        TEST(a_start_sweeps_nothing_that_lives),
    };

    /* A child that dies must not take the test with it. */
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
