/* SPDX-License-Identifier: MIT */
#include "tests/support/exercise_segment.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime-hooks/hooks/hooks.h"
#include "shared/ring/ring_segment.h"
#include "tests/support/scratch.h"

#define REQUIRE(condition)                                                        \
    do {                                                                          \
        if (!(condition)) {                                                       \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                              \
        }                                                                         \
    } while (0)

static uint64_t digest;

static void require_text(const char *text, size_t field_bytes)
{
    size_t length = strnlen(text, field_bytes);
    size_t i;

    REQUIRE(length < field_bytes);
    for (i = 0; i < length; i++) {
        REQUIRE((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
    }
    digest += length;
}

static void take_batch(const struct ntk_ring_segment *segment, const struct ntk_slot *slots,
                       size_t count, void *ctx)
{
    struct ntk_ring_thread thread;
    size_t i;

    (void)ctx;
    REQUIRE(count > 0 && count <= NTK_RING_BATCH);
    for (i = 0; i < count; i++) {
        REQUIRE(slots[i].core < NTK_SEGMENT_CORES || slots[i].core == NTK_NO_CORE);
        REQUIRE(slots[i].thread < NTK_SEGMENT_THREADS);
        digest += slots[i].word[0] + ntk_ring_segment_monotonic_ns(segment, slots[i].start_ticks) +
                  ntk_ring_segment_realtime_ns(segment, slots[i].start_ticks) +
                  ntk_ring_segment_ticks_to_ns(segment, slots[i].word[0]);
    }
    ntk_ring_segment_thread(segment, &slots[count - 1], &thread);
    require_text(thread.name, sizeof thread.name);
}

static void exercise_comms(const struct ntk_ring_segment *segment)
{
    static struct ntk_ring_comm comms[NTK_SEGMENT_COMMS];
    size_t count = ntk_ring_segment_comms(segment, comms, NTK_SEGMENT_COMMS);
    char text[64];

    REQUIRE(count <= NTK_SEGMENT_COMMS);
    for (uint32_t i = 0; i < NTK_SEGMENT_COMMS + 1; i++) {
        struct ntk_ring_comm one;

        REQUIRE(!ntk_ring_segment_comm(segment, i, &one) || (one.slot == i && one.key != 0));
    }
    for (size_t i = 0; i < count; i++) {
        const struct ntk_ring_comm *comm = &comms[i];

        REQUIRE(comm->slot < NTK_SEGMENT_COMMS && (i == 0 || comm->slot > comms[i - 1].slot));
        REQUIRE(comm->key != 0 && comm->rank < comm->rank_count);
        REQUIRE(comm->state >= NTK_COMM_JOINED && comm->state <= NTK_COMM_BROKEN);
        REQUIRE(comm->operation < NTK_COLLECTIVE_COUNT);
        REQUIRE(comm->core < NTK_SEGMENT_CORES || comm->core == NTK_NO_CORE);
        REQUIRE(comm->in_flight == 0 || comm->sequence > 0);
        digest += comm->state_ns + comm->tid;
        (void)ntk_ring_segment_text(segment, comm->name, text, sizeof text);
        require_text(text, sizeof text);
        (void)ntk_ring_segment_text(segment, comm->group, text, sizeof text);
        require_text(text, sizeof text);
    }
}

uint64_t exercise_segment(struct ntk_ring_segment *segment)
{
    static struct ntk_ring_memory rows[NTK_SEGMENT_MEMORY_ROWS];
    static struct ntk_ring_model models[NTK_SEGMENT_MODELS];
    static struct ntk_ring_core cores[NTK_SEGMENT_CORES];
    static struct ntk_ring_histogram histogram;
    struct ntk_segment_clock bracket = segment->process.clock;
    struct ntk_ring_refusals refusals;
    struct ntk_ring_process process;
    uint64_t published;
    uint64_t read;
    uint64_t lost;
    char model_name[NTK_MODEL_NAME_BYTES + 1];
    char text[64];
    uint32_t name;
    size_t count;
    size_t i;

    ntk_ring_segment_process(segment, &process);
    REQUIRE(process.lnc == 1 || process.lnc == 2);
    REQUIRE(process.mode == 1 || process.mode == 2);
    REQUIRE(process.pid > 0 && process.cores_per_device <= NTK_SEGMENT_CORES);
    REQUIRE(process.clock.ticks_per_second > 0);
    require_text(process.tag, sizeof process.tag);
    require_text(process.framework_version, sizeof process.framework_version);
    require_text(process.fal_version, sizeof process.fal_version);
    require_text(process.runtime_version, sizeof process.runtime_version);
    require_text(process.instance_type, sizeof process.instance_type);
    require_text(process.command, sizeof process.command);
    ntk_ring_segment_refusals(segment, &refusals);
    digest += refusals.events_without_ring + (uint64_t)ntk_ring_segment_said_goodbye(segment);

    bracket.raw_ticks += 5000000000u;
    bracket.monotonic_ns += 2000000000u;
    ntk_ring_segment_refine_clock(segment, &bracket);

    count = ntk_ring_segment_cores(segment, cores, NTK_SEGMENT_CORES);
    REQUIRE(count <= NTK_SEGMENT_CORES);
    for (i = 0; i < count; i++) {
        REQUIRE(cores[i].core < NTK_SEGMENT_CORES && cores[i].logical < NTK_SEGMENT_CORES);
        REQUIRE(i == 0 || cores[i].core > cores[i - 1].core);
        if (ntk_ring_segment_core_histogram(segment, cores[i].core, &histogram) == 0) {
            digest += histogram.total.bucket[7];
        }
    }
    count = ntk_ring_segment_models(segment, models, NTK_SEGMENT_MODELS);
    REQUIRE(count <= NTK_SEGMENT_MODELS);
    for (i = 0; i < count; i++) {
        REQUIRE(models[i].id != 0 && models[i].slot < NTK_SEGMENT_MODELS);
        REQUIRE(models[i].state >= NTK_MODEL_LOADING && models[i].state <= NTK_MODEL_UNLOADED);
        REQUIRE(models[i].core < NTK_SEGMENT_CORES || models[i].core_count == 0);
        REQUIRE(models[i].core_count <= NTK_SEGMENT_CORES);
        require_text(models[i].name, sizeof models[i].name);
        ntk_ring_segment_model_name(segment, models[i].id, model_name);
        require_text(model_name, sizeof model_name);
        require_text(models[i].neff_path, sizeof models[i].neff_path);
        if (ntk_ring_segment_model_histogram(segment, &models[i], &histogram) == 0) {
            digest += histogram.device.bucket[9];
        }
    }
    exercise_comms(segment);
    count = ntk_ring_segment_memory(segment, rows, NTK_SEGMENT_MEMORY_ROWS);
    REQUIRE(count <= NTK_SEGMENT_MEMORY_ROWS);
    for (i = 0; i < count; i++) {
        REQUIRE(rows[i].category < NTK_MEMORY_CATEGORY_COUNT && rows[i].location <= 1);
        REQUIRE(rows[i].core < NTK_SEGMENT_CORES || rows[i].core == NTK_NO_CORE);
        REQUIRE(rows[i].current_bytes < 1ull << 63);
    }
    for (name = 0; name < 16; name++) {
        REQUIRE(ntk_ring_segment_text(segment, name, text, sizeof text) < sizeof text);
        require_text(text, sizeof text);
    }
    digest += ntk_ring_segment_text(segment, UINT32_MAX, text, sizeof text);
    digest += ntk_ring_segment_drain(segment, 2000, take_batch, NULL);
    digest += ntk_ring_segment_drain(segment, 0, take_batch, NULL);
    ntk_ring_segment_events(segment, &read, &lost, &published);
    return digest + read + lost + published;
}

/* A rank of host calls, one of a model, and one that has left. */
static void fill_comms(void)
{
    static const uint32_t group[] = { 1, 3 };
    const struct ntk_hooks_rank rank = { .rendezvous = "10.0.0.1:1",
                                         .world_rank = 3,
                                         .world_count = 4,
                                         .group = group,
                                         .group_count = 2 };
    ntk_hooks_comm comm = ntk_hooks_comm_join(&rank, 2);

    (void)ntk_hooks_collective_begin(comm, NTK_COLLECTIVE_ALL_GATHER, 10, 64);
    ntk_hooks_collective_end(comm, 5, 0);
    (void)ntk_hooks_collective_begin(comm, NTK_COLLECTIVE_BARRIER, 0, 0);
    ntk_hooks_comm_leave(ntk_hooks_comm_join(&rank, 2), true);
}

static void fill(void)
{
    const struct ntk_hooks_rank rank = { .world_rank = 1, .world_count = 2 };
    struct ntk_hooks_model model = { .id = 10001,
                                     .name = "mlp",
                                     .neff_path = "/m.neff",
                                     .core = 2,
                                     .core_count = 1,
                                     .rank = &rank };
    struct ntk_hooks_memory memory = { .bytes = 100, .core = 2, .category = NTK_MEMORY_TENSORS };
    struct ntk_hooks_exec_core did = { .engine_busy_ns = { 5 }, .engine_busy_device_ns = { 5 } };
    struct ntk_hooks_model_ref ref;
    uint64_t i;

    ntk_hooks_core_claim(2, 2, 1);
    fill_comms();
    ntk_hooks_model_begin(&model, &ref);
    memory.model = ref;
    memory.name = ntk_hooks_name("weights");
    (void)ntk_hooks_memory_alloc(&memory);
    ntk_hooks_model_loaded(ref, ntk_hooks_now(), 0, 100);
    for (i = 0; i < 700; i++) {
        struct ntk_hooks_exec exec = { .model = ref,
                                       .execution_id = i,
                                       .call_start_ticks = ntk_hooks_now(),
                                       .status = i % 7 ? 0 : 1003,
                                       .core = 2,
                                       .core_count = 1,
                                       .per_core = &did };

        exec.core_start_ticks = ntk_hooks_exec_begin(ref, 2, 1);
        ntk_hooks_exec_end(&exec);
    }
}

int exercise_make_segment(uint8_t **out_bytes, size_t *out_count)
{
    char *folder = test_scratch_create();
    struct ntk_hooks_config config = {
        .instance_type = "trn1.32xlarge", .lnc = 1, .device_count = 16, .cores_per_device = 2
    };
    struct stat status;
    uint8_t *source;
    uint8_t *target;
    size_t at;
    int copy;
    int fd;

    setenv("NEURON_HOOKS_DIR", folder, 1);
    setenv("NEURON_HOOKS_MEMORY", "64K", 1);
    unsetenv("NEURON_HOOKS");
    REQUIRE(ntk_hooks_attach(&config, NULL, 0) == 0);
    fill();
    fd = open(ntk_hooks_segment_path(), O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && fstat(fd, &status) == 0);
    copy = memfd_create("segment", MFD_CLOEXEC);
    REQUIRE(copy >= 0 && ftruncate(copy, status.st_size) == 0 && fchmod(copy, 0600) == 0);
    source = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    target = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0);
    REQUIRE(source != MAP_FAILED && target != MAP_FAILED);
    for (at = 0; at + 4096 <= (size_t)status.st_size; at += 4096) {
        static const uint8_t zeros[4096];

        if (memcmp(source + at, zeros, 4096) != 0) {
            memcpy(target + at, source + at, 4096);
        }
    }
    munmap(source, (size_t)status.st_size);
    close(fd);
    ntk_hooks_detach();
    test_scratch_destroy(folder);
    unsetenv("NEURON_HOOKS_MEMORY");
    *out_bytes = target;
    *out_count = (size_t)status.st_size;
    return copy;
}
