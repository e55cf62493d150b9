/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/hooks/hooks_fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/support/scratch.h"
#include "tests/support/unit.h"

int hooks_fixture_setup(void **state)
{
    struct hooks_fixture *f = calloc(1, sizeof *f);
    struct ntk_ring_options options = { .hold = true };

    (void)signal(SIGPIPE, SIG_IGN); /* a dying child must not end the test too */
    f->folder = test_scratch_create();
    options.folder = f->folder;
    assert_int_equal(ntk_ring_registry_open(&options, &f->registry, NULL), 0);
    *state = f;
    return 0;
}

int hooks_fixture_teardown(void **state)
{
    struct hooks_fixture *f = *state;

    ntk_ring_registry_close(f->registry);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

struct ntk_ring_segment *hooks_fixture_segment(struct hooks_fixture *f)
{
    struct ntk_ring_poll poll;

    assert_int_equal(ntk_ring_registry_poll(f->registry, &poll, NULL), 0);
    assert_int_equal(poll.ignored, 0);
    assert_int_equal(poll.segments, 1);
    return ntk_ring_registry_get(f->registry, 0);
}

unsigned int hooks_fixture_files(const char *folder)
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

void observed_attach(uint32_t flags)
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

struct ntk_hooks_model_ref observed_load(uint32_t id, uint16_t core)
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

void observed_execute(struct ntk_hooks_model_ref model, uint16_t core, uint32_t status, uint64_t id)
{
    struct ntk_hooks_exec_core did = {
        .engine_busy_ns = { 100, 50, 0, 0, 0, 20 },
        .engine_busy_device_ns = { 10, 5, 0, 0, 0, 2 },
        .engine_instructions = { 7, 3, 0, 0, 0, 4 },
        .flops = 1000,
        .effective_flops = 900,
        .hbm_read_bytes = 64,
        .hbm_written_bytes = 32,
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
        /* on a fast machine it would take less than 1 ns, which is not a valid time */
    }
    ntk_hooks_exec_end(&exec);
}

void seen_add(const struct ntk_ring_segment *segment, const struct ntk_slot *slots, size_t count,
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

uint64_t sum(const uint64_t *values, size_t count)
{
    uint64_t all = 0;

    while (count-- > 0) {
        all += values[count];
    }
    return all;
}

void *observed_marks(void *ctx)
{
    pthread_barrier_t *together = ctx;
    int i;

    if (together != NULL) {
        ntk_hooks_mark(1, 0, 0, 0, 0);
        pthread_barrier_wait(together); /* this number of rings at once */
    }
    for (i = 0; i < MARKS; i++) {
        ntk_hooks_mark(1, 0, 0, (uint64_t)i, 0);
    }
    return NULL;
}

int observed_closes_everything(struct observed *child, void *ctx)
{
    int fd;

    (void)ctx;
    observed_attach(0);
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
