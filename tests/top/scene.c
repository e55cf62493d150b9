/* SPDX-License-Identifier: MIT */
/* scene - hand-made snapshots and golden screens. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "tests/support/unit.h"
#include "tests/top/scene.h"
#include "top/view/view.h"
#include "top/view/views.h"

#define PERIOD_NS UINT64_C(1000000000)
/* The time of the usual scenes, 04:40:00 UTC. */
#define MOMENT_NS (UINT64_C(1763700000) * PERIOD_NS)
#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

const struct scene scene_trn1 = { .instance_type = "trn1.32xlarge",
                                  .core_version = "v2",
                                  .device_count = 16,
                                  .cores_per_device = 2,
                                  .lnc = 1,
                                  .runtime_count = 2,
                                  .cores_per_runtime = 8,
                                  .events = true,
                                  .realtime_ns = MOMENT_NS };
const struct scene scene_trn2_lnc2 = { .instance_type = "trn2.48xlarge",
                                       .core_version = "v3d",
                                       .device_count = 16,
                                       .cores_per_device = 8,
                                       .lnc = 2,
                                       .runtime_count = 4,
                                       .cores_per_runtime = 32 };
const struct scene scene_trn2_lnc1 = { .instance_type = "trn2.48xlarge",
                                       .core_version = "v3",
                                       .device_count = 16,
                                       .cores_per_device = 8,
                                       .lnc = 1,
                                       .runtime_count = 4,
                                       .cores_per_runtime = 32 };
const struct scene scene_small = { .instance_type = "trn1.2xlarge",
                                   .core_version = "v2",
                                   .device_count = 1,
                                   .cores_per_device = 2,
                                   .lnc = 1,
                                   .runtime_count = 1,
                                   .cores_per_runtime = 2 };
static const char *const wide_tags[] = { "深層学習の推論サーバー", "a\x1b[31mred\nline" };
const struct scene scene_wide = {
    .instance_type = "trn1.2xlarge",
    .core_version = "v2",
    .device_count = 1,
    .cores_per_device = 2,
    .lnc = 1,
    .runtime_count = 2,
    .cores_per_runtime = 1,
    .tags = wide_tags,
    .model_name = "/m/モデル-with-a-very-long-name-that-does-not-fit-into-its-column.neff"
};
const struct scene scene_no_device = { .instance_type = "",
                                       .core_version = "",
                                       .hardware_error = "no Neuron driver: /sys/devices/virtual/"
                                                         "neuron_device does not exist" };

static void fill_core(const struct scene *scene, struct ntk_core_sample *sample, uint32_t core)
{
    sample->core = core;
    sample->has = (scene->no_busy ? 0 : NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EXECUTIONS) |
                  (scene->no_flops ? 0
                                   : NTK_CORE_HAS_FLOPS | NTK_CORE_HAS_EFFECTIVE_FLOPS |
                                         NTK_CORE_HAS_ENGINES | NTK_CORE_HAS_BYTES);
    if (scene->idle || core >= scene->runtime_count * scene->cores_per_runtime) {
        return;
    }
    sample->utilization = core == 0   ? 1.0
                          : core == 1 ? 0.00004
                                      : 0.6981 + 0.0123 * (double)((core * 5 + scene->phase) % 13);
    sample->effective_flops.period = (uint64_t)(sample->utilization * 14e12);
    sample->busy_ns.period = (uint64_t)(sample->utilization * (double)PERIOD_NS);
    sample->in_flight = core % 3;
    for (int e = 0; e < NTK_ENGINE_COUNT; e++) {
        sample->engine_busy_ns[e].period = sample->busy_ns.period * (uint64_t)(9 - e) / 10;
    }
    sample->hbm_read_bytes.period = (core + 1) * 123 * MIB;
    sample->hbm_written_bytes.period = (core + 1) * 45 * MIB;
    sample->dma_bytes.period = (core + 1) * 6 * MIB;
    sample->outcome[NTK_OUTCOME_COMPLETED].period = 10 + (core * 7 + scene->phase) % 23;
}

/* Executions, latencies and identity. */
static void fill_work(const struct scene *scene, struct ntk_snapshot *snapshot,
                      struct ntk_runtime_sample *runtime, uint32_t index)
{
    static const char *const users[] = { "alice", "bob", "", "a-user-with-a-long-name" };
    struct ntk_model_sample *model = &runtime->models[0];
    struct ntk_histogram_entry *entry = ntk_snapshot_alloc(snapshot, 1, sizeof *entry);

    assert_non_null(entry);
    *entry = (struct ntk_histogram_entry){ .bucket = ntk_histogram_bucket((index + 1) * 1234567),
                                           .count = 40 };
    runtime->total_latency =
        (struct ntk_histogram){ .count = 40, .entries = entry, .entry_count = 1 };
    runtime->outcome[NTK_OUTCOME_COMPLETED] = (struct ntk_count){ 40 + index, 100000 };
    runtime->outcome[NTK_OUTCOME_TIMED_OUT] = (struct ntk_count){ index == 1, 3 };
    runtime->in_flight = index;
    runtime->user = ntk_snapshot_text(snapshot, users[index % 4]);
    runtime->command = ntk_snapshot_format(snapshot, "python3 serve.py --port %u", 8000 + index);
    runtime->container_id =
        ntk_snapshot_text(snapshot, index == 1 ? "0123456789abcdef0123456789abcdef" : "");
    if (index == 2) {
        runtime->pod.name = ntk_snapshot_text(snapshot, "llm-0");
        runtime->pod.namespace_name = ntk_snapshot_text(snapshot, "prod");
        runtime->pod.container_name = ntk_snapshot_text(snapshot, "server");
    }
    if (!scene->no_cpu) {
        runtime->has |= NTK_RUNTIME_HAS_RSS;
        runtime->rss_bytes = (index + 1) * 321 * MIB;
    }
    model->has = NTK_MODEL_HAS_LATENCY | NTK_MODEL_HAS_EXECUTIONS | NTK_MODEL_HAS_IN_FLIGHT |
                 NTK_MODEL_HAS_TOTALS | (scene->no_flops ? 0 : NTK_MODEL_HAS_EFFECTIVE_FLOPS);
    model->total_latency = runtime->total_latency;
    if (scene->spread) {
        struct ntk_histogram_entry *entries = ntk_snapshot_alloc(snapshot, 13, sizeof *entries);

        assert_non_null(entries);
        for (uint32_t i = 0; i < 13; i++) {
            entries[i] =
                (struct ntk_histogram_entry){ .bucket = ntk_histogram_bucket(1000000 + i * 250000),
                                              .count = 1 + i * (12 - i) };
            model->total_latency.count += entries[i].count;
        }
        model->total_latency = (struct ntk_histogram){ .count = model->total_latency.count - 40,
                                                       .entries = entries,
                                                       .entry_count = 13 };
    }
    model->executions = runtime->outcome[NTK_OUTCOME_COMPLETED];
    model->errors = runtime->outcome[NTK_OUTCOME_TIMED_OUT];
    model->in_flight = index;
    model->effective_flops.period = UINT64_C(9876543210987) * (index + 1);
    model->load_ns = 123456789;
    memset(model->uuid, 'a', sizeof model->uuid - 1);
}

/* Earlier executions are in the counts of the period, and listed separately. */
static void fill_unwatched(const struct scene *scene, struct ntk_snapshot *snapshot,
                           struct ntk_runtime_sample *runtime)
{
    struct ntk_core_sample *part = ntk_snapshot_alloc(snapshot, 1, sizeof *part);
    struct ntk_core_sample *core = &runtime->cores[0];

    assert_non_null(part);
    part->outcome[NTK_OUTCOME_COMPLETED].period = scene->unwatched;
    part->outcome[NTK_OUTCOME_TIMED_OUT].period = scene->unwatched;
    part->effective_flops.period = scene->unwatched;
    core->effective_flops.period += scene->unwatched;
    core->unwatched = part;
    runtime->outcome[NTK_OUTCOME_COMPLETED].period += scene->unwatched;
    runtime->outcome[NTK_OUTCOME_TIMED_OUT].period += scene->unwatched;
}

static void fill_events(const struct scene *scene, struct ntk_snapshot *snapshot)
{
    static const struct ntk_event_sample samples[] = {
        { .kind = NTK_EVENT_MODEL_LOAD,
          .bytes = 34 * MIB,
          .duration_ns = 123456789,
          .core = 0,
          .model_id = 10006,
          .name = "/models/mlp.neff" },
        { .kind = NTK_EVENT_MODEL_LOAD,
          .core = 1,
          .status = 10,
          .duration_ns = 4000,
          .name = "newer.neff" },
        { .kind = NTK_EVENT_MEM_ALLOC,
          .category = NTK_MEMORY_TENSORS,
          .bytes = 512 * KIB,
          .location = NTK_MEMORY_DEVICE,
          .core = 3,
          .address = 0x7f0000001000,
          .name = "input0" },
        { .kind = NTK_EVENT_MEM_FREE,
          .category = NTK_MEMORY_HOST_DMA_BUFFERS,
          .bytes = 4 * KIB,
          .core = NTK_NO_CORE,
          .name = "" },
        { .kind = NTK_EVENT_ERROR,
          .core = 0,
          .model_id = 10006,
          .status = 1003,
          .error_class = 1,
          .execution_id = 77,
          .name = "" },
        { .kind = NTK_EVENT_ERROR,
          .core = 2,
          .error_class = NTK_ERROR_CLASS_NONE,
          .error_code = NTK_ERROR_CODE_ECC_MEM_CORRECTED,
          .value = 3,
          .name = "" },
        { .kind = NTK_EVENT_MODEL_UNLOAD,
          .core = 1,
          .model_id = 10001,
          .duration_ns = 2000,
          .name = "old.neff" },
        { .kind = NTK_EVENT_PROFILE_START, .core = 0, .name = "profile.ntff" },
        { .kind = NTK_EVENT_PROFILE_STOP,
          .core = 0,
          .bytes = 3 * MIB,
          .duration_ns = 1500000000,
          .name = "profile.ntff" },
        { .kind = NTK_EVENT_MARK,
          .core = NTK_NO_CORE,
          .duration_ns = 250000,
          .value = 42,
          .name = "step 42" },
    };
    size_t count = sizeof samples / sizeof *samples;
    struct ntk_event_sample *events;

    if (!scene->events || snapshot->runtime_count == 0) {
        return;
    }
    events = ntk_snapshot_alloc_events(snapshot, count);
    assert_non_null(events);
    for (size_t i = 0; i < count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[0];

        events[i] = samples[i];
        events[i].realtime_ns = scene->realtime_ns + i * 1234567;
        events[i].pid = runtime->pid;
        events[i].header_pid = runtime->header_pid;
        events[i].start_time = runtime->start_time;
        events[i].uid = runtime->uid;
        events[i].tid = runtime->pid + 1;
    }
}

/* Two devices of an old driver that does not count corrected errors; one with trouble. */
static void fill_ecc(const struct scene *scene, struct ntk_device_sample *device)
{
    device->has |= NTK_DEVICE_HAS_ECC | (scene->no_ecc_total ? 0 : NTK_DEVICE_HAS_ECC_TOTAL);
    device->ecc_has = device->index < 2 ? 1u << NTK_ECC_MEM_UNCORRECTED : (1u << NTK_ECC_COUNT) - 1;
    if (device->index == 3) {
        device->ecc[NTK_ECC_MEM_CORRECTED] = (struct ntk_count){ scene->ecc, 17 + scene->ecc };
        device->ecc[NTK_ECC_MEM_REPAIRABLE] = (struct ntk_count){ 0, 1 };
    }
}

/* A torus of sixteen, otherwise a chain; power for even indices. */
static void fill_links(const struct scene *scene, struct ntk_device_sample *device)
{
    uint32_t d = device->index;
    uint8_t *next = device->connected_devices;

    device->has |= NTK_DEVICE_HAS_CONNECTED_DEVICES | (d % 2 == 0 ? NTK_DEVICE_HAS_POWER : 0);
    device->power_average = d % 2 == 0 ? 0.05 * (d + 1) : 0;
    if (scene->device_count == 16) {
        *next++ = (uint8_t)((d + 12) % 16);
        *next++ = (uint8_t)((d + 4) % 16);
        *next++ = (uint8_t)(d / 4 * 4 + (d + 3) % 4);
        *next++ = (uint8_t)(d / 4 * 4 + (d + 1) % 4);
    } else {
        if (d > 0) {
            *next++ = (uint8_t)(d - 1);
        }
        if (d + 1 < scene->device_count) {
            *next++ = (uint8_t)(d + 1);
        }
    }
    device->connected_device_count = (uint32_t)(next - device->connected_devices);
}

static void fill_devices(const struct scene *scene, struct ntk_snapshot *snapshot)
{
    const struct ntk_machine *machine = ntk_machine_find(scene->instance_type);
    struct ntk_device_sample *devices;

    if (!machine || scene->no_memory) {
        return;
    }
    devices = ntk_snapshot_alloc_devices(snapshot, scene->device_count);
    assert_non_null(devices);
    for (uint32_t d = 0; d < scene->device_count; d++) {
        devices[d].index = d;
        devices[d].has = NTK_DEVICE_HAS_MEMORY_CAPACITY | NTK_DEVICE_HAS_MEMORY_USED;
        devices[d].stack_count = machine->stack_count;
        fill_ecc(scene, &devices[d]);
        fill_links(scene, &devices[d]);
        for (uint32_t s = 0; s < machine->stack_count; s++) {
            devices[d].memory_capacity_bytes[s] = machine->stack_bytes;
            devices[d].memory_used_bytes[s] = (d + 1) * 700 * MIB + scene->phase * MIB;
        }
    }
}

static void fill_runtime(const struct scene *scene, struct ntk_snapshot *snapshot, uint32_t index)
{
    struct ntk_runtime_sample *runtime = &snapshot->runtimes[index];
    const struct ntk_memory_sample rows[] = {
        { .category = NTK_MEMORY_TENSORS, .current_bytes = 512 * KIB + 512 },
        { .category = NTK_MEMORY_UCODE, .current_bytes = 96 * MIB + 410 * KIB },
        { .category = NTK_MEMORY_RUNTIME, .current_bytes = 1126 },
        { .category = NTK_MEMORY_SHARED_SCRATCHPAD, .current_bytes = 512 * MIB },
        { .category = NTK_MEMORY_MODEL_CODE, .current_bytes = 30 * MIB, .model_id = 10006 },
        { .category = NTK_MEMORY_DMA_RINGS_IO, .current_bytes = 3 * MIB, .model_id = 10006 },
        { .category = NTK_MEMORY_CONSTANTS, .current_bytes = 4 * MIB, .model_id = 10006 },
        { .category = NTK_MEMORY_HOST_CONSTANTS, .current_bytes = 20582, .model_id = 10006 },
    };
    size_t row_count = sizeof rows / sizeof *rows;
    uint32_t first = index * scene->cores_per_runtime;
    uint32_t cores = scene->cores_per_runtime;
    uint32_t pid = (scene->first_pid ? scene->first_pid : 7286) + index;

    runtime->pid = pid;
    runtime->header_pid = pid;
    runtime->start_time = 1000 + pid + scene->started_later;
    runtime->lnc = scene->lnc;
    runtime->instance_type = ntk_snapshot_text(snapshot, scene->runtime_instance_type);
    runtime->software = !scene->no_flops;
    runtime->ended = index < scene->ended;
    runtime->tag = scene->tags ? ntk_snapshot_text(snapshot, scene->tags[index])
                               : ntk_snapshot_format(snapshot, "%u", pid);
    if (scene->only_opaque) {
        runtime->error = ntk_snapshot_text(snapshot, "no permission to read its counters");
        return;
    }
    runtime->has = NTK_RUNTIME_HAS_CORES | NTK_RUNTIME_HAS_EXECUTIONS | NTK_RUNTIME_HAS_MODELS |
                   (scene->no_in_flight ? 0 : NTK_RUNTIME_HAS_IN_FLIGHT);
    runtime->cores = ntk_snapshot_alloc(snapshot, cores, sizeof *runtime->cores);
    assert_true(runtime->cores || cores == 0);
    runtime->core_count = cores;
    for (uint32_t c = 0; c < cores; c++) {
        fill_core(scene, &runtime->cores[c], first + c);
    }
    if (!scene->no_cpu) {
        runtime->has |= NTK_RUNTIME_HAS_CPU;
        runtime->vcpu_user = 0.0333;
        runtime->vcpu_system = 0.0492;
    }
    assert_non_null(ntk_snapshot_alloc_models(snapshot, runtime, 1));
    runtime->models[0].id = 10006;
    runtime->models[0].name =
        ntk_snapshot_text(snapshot, scene->model_name ? scene->model_name : "/models/mlp.neff");
    runtime->models[0].loaded = !runtime->ended;
    runtime->models[0].core = first;
    runtime->models[0].core_count = cores;
    runtime->models[0].is_running = !scene->idle;
    fill_work(scene, snapshot, runtime, index);
    if (scene->unwatched > 0) {
        fill_unwatched(scene, snapshot, runtime);
    }
    if (scene->no_memory) {
        return;
    }
    runtime->has |= NTK_RUNTIME_HAS_MEMORY;
    runtime->memory_count = runtime->ended ? 0 : row_count * cores + 1;
    runtime->memory = ntk_snapshot_alloc(snapshot, runtime->memory_count, sizeof *runtime->memory);
    for (size_t i = 0; i < runtime->memory_count; i++) {
        struct ntk_memory_sample *row = &runtime->memory[i];

        if (i == row_count * cores) {
            *row = (struct ntk_memory_sample){ .category = NTK_MEMORY_HOST_DMA_BUFFERS,
                                               .core = NTK_NO_CORE,
                                               .current_bytes = 8 * MIB };
        } else {
            *row = rows[i % row_count];
            row->core = (uint16_t)(first + i / row_count);
        }
        row->peak_bytes = row->current_bytes + row->current_bytes / 2;
        row->location = (uint16_t)ntk_memory_location_of((enum ntk_memory_category)row->category);
    }
}

const struct ntk_snapshot *scene_snapshot(const struct scene *scene)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    uint32_t cores = scene->device_count * scene->cores_per_device;

    assert_non_null(snapshot);
    snapshot->sequence = 2;
    snapshot->period_ns = PERIOD_NS;
    snapshot->hardware.instance_type = ntk_snapshot_text(snapshot, scene->instance_type);
    snapshot->hardware.core_version = ntk_snapshot_text(snapshot, scene->core_version);
    snapshot->hardware.error = ntk_snapshot_text(snapshot, scene->hardware_error);
    snapshot->hardware.has = scene->device_count > 0 ? NTK_HARDWARE_HAS_DEVICES : 0;
    snapshot->hardware.software = !scene->driver;
    if (ntk_machine_find(scene->instance_type)) {
        snapshot->hardware.has |= NTK_HARDWARE_HAS_PEAK;
        snapshot->hardware.device_type = ntk_machine_find(scene->instance_type)->device_type;
        snapshot->hardware.tensor_peak_flops =
            ntk_machine_find(scene->instance_type)->tensor_peak_flops;
    }
    snapshot->hardware.device_count = scene->device_count;
    snapshot->hardware.cores_per_device = scene->cores_per_device;
    snapshot->hardware.lnc = scene->lnc ? scene->lnc : 1;
    snapshot->cores = ntk_snapshot_alloc(snapshot, cores, sizeof *snapshot->cores);
    snapshot->core_count = cores;
    for (uint32_t c = 0; c < cores; c++) {
        fill_core(scene, &snapshot->cores[c], c);
    }
    fill_devices(scene, snapshot);
    if (scene->runtime_count > 0) {
        assert_non_null(ntk_snapshot_alloc_runtimes(snapshot, scene->runtime_count));
        for (uint32_t r = 0; r < scene->runtime_count; r++) {
            fill_runtime(scene, snapshot, r);
        }
    }
    if (!scene->no_cpu) {
        snapshot->system.has = NTK_SYSTEM_HAS_CPU;
        snapshot->system.average[NTK_CPU_USER] = 0.2269;
        snapshot->system.average[NTK_CPU_SYSTEM] = 0.1137;
    }
    snapshot->realtime_ns = scene->realtime_ns;
    snapshot->monotonic_ns = 3600 * PERIOD_NS;
    snapshot->events_lost.period = scene->lost;
    fill_events(scene, snapshot);
    assert_true(ntk_snapshot_ok(snapshot));
    return snapshot;
}

struct ntk_top_model *scene_model(const struct scene *scene)
{
    struct ntk_top_model *model = NULL;

    assert_int_equal(ntk_top_model_create(ntk_top_views, &model, NULL), 0);
    model->view = model->first_view = NTK_TOP_VIEW_TREE;
    model->version = "1.2.3"; /* golden screens must outlive releases */
    scene_update(model, scene);
    return model;
}

void scene_update(struct ntk_top_model *model, const struct scene *scene)
{
    assert_int_equal(ntk_top_model_update(model, scene_snapshot(scene), NULL), 0);
}

static struct ntk_screen *draw(struct ntk_top_model *model, int rows, int columns, bool with_keys)
{
    struct ntk_screen *screen = NULL;

    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    assert_int_equal(setenv("TZ", "UTC0", 1), 0);
    assert_int_equal(ntk_screen_text_create(rows, columns, &screen, NULL), 0);
    ntk_top_view_draw(model, screen, with_keys);
    return screen;
}

static void assert_golden(const struct ntk_buf *buf, const char *golden_name)
{
    char path[256];
    uint8_t *expected = NULL;
    size_t count = 0;
    struct ntk_err err = { 0 };

    (void)snprintf(path, sizeof path, "../golden/%s.txt", golden_name);
    if (getenv("NTK_GOLDEN_UPDATE")) {
        assert_int_equal(ntk_fs_write(path, buf->bytes, buf->bytes_count, &err), 0);
        return;
    }
    if (ntk_fs_read(path, 1 << 20, &expected, &count, &err) < 0) {
        fail_msg("%s", err.text);
    }
    if (strcmp((const char *)expected, ntk_buf_text_get(buf)) != 0) {
        print_error("%s expected:\n%s\ndrawn:\n%s\n", path, (const char *)expected,
                    ntk_buf_text_get(buf));
        free(expected);
        fail_msg("%s differs", path);
    }
    free(expected);
}

void scene_assert_screen(struct ntk_top_model *model, int rows, int columns, bool with_keys,
                         const char *golden_name)
{
    struct ntk_screen *screen = draw(model, rows, columns, with_keys);
    struct ntk_buf buf = { 0 };

    ntk_screen_text_write(screen, &buf);
    assert_golden(&buf, golden_name);
    ntk_buf_fini(&buf);
    ntk_screen_destroy(screen);
}

void scene_assert_ascii(struct ntk_top_model *model, int rows, int columns, const char *golden_name)
{
    struct ntk_screen *screen = NULL;
    struct ntk_buf buf = { 0 };

    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    assert_int_equal(setenv("TZ", "UTC0", 1), 0);
    assert_int_equal(ntk_screen_text_create(rows, columns, &screen, NULL), 0);
    screen->is_utf8 = false;
    ntk_top_view_draw(model, screen, true);
    ntk_screen_text_write(screen, &buf);
    for (size_t i = 0; i < buf.bytes_count; i++) {
        assert_in_range((unsigned char)buf.bytes[i], '\n', '~');
    }
    assert_golden(&buf, golden_name);
    ntk_buf_fini(&buf);
    ntk_screen_destroy(screen);
}

void scene_assert_styles(struct ntk_top_model *model, int rows, int columns,
                         const char *golden_name)
{
    struct ntk_screen *screen = draw(model, rows, columns, true);
    struct ntk_buf buf = { 0 };

    ntk_screen_text_write_styles(screen, &buf);
    assert_golden(&buf, golden_name);
    ntk_buf_fini(&buf);
    ntk_screen_destroy(screen);
}

char *scene_row(struct ntk_top_model *model, int rows, int columns, int row)
{
    struct ntk_screen *screen = draw(model, rows, columns, true);
    struct ntk_buf buf = { 0 };
    const char *at;
    char *line;

    ntk_screen_text_write(screen, &buf);
    at = ntk_buf_text_get(&buf);
    while (row-- > 0) {
        at = strchr(at, '\n') + 1;
    }
    line = strndup(at, strcspn(at, "\n"));
    ntk_buf_fini(&buf);
    ntk_screen_destroy(screen);
    return line;
}
