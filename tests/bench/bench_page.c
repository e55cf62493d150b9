/* SPDX-License-Identifier: MIT */
/*
 * bench_page - the cost of a page of a million samples: CPU time to write it as text, and memory
 * beyond the values it shows.
 *
 * Method: fills the values from one snapshot of 2,048 applications with four cores and six models
 * each, as the agent does, and writes the page part by part, as the server sends it. A part is
 * read once, like a copy to a socket. CPU time is the thread's. Memory is the peak of the resident
 * set during a page, above that before it.
 *
 * Where the time goes (callgrind): 51 % to latency histograms; 31 % to labels; 13 % to snprintf for
 * numbers in labels; 5 % to doubles. Before, a page was one buffer and took 320 ns per sample and
 * 300 MB: it formatted the edges of each histogram again, which was half of its instructions, and
 * most of the other time was page faults of the buffer.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporters/points/points_page.h"
#include "exporters/prometheus/prometheus_encode.h"
#include "shared/metrics/snapshot.h"
#include "tests/bench/rounds.h"

#define APPLICATIONS ROUNDS_SIZE(2048u, 16u)
#define CORES_EACH 4u
#define MODELS_EACH 6u
#define MEMORY_ROWS 12u
#define LATENCIES 64u /* executions of a model */
#define ROUNDS 7
#define PART_BYTES (64u << 10)
#define MS_TARGET 200
#define MIB_TARGET 16

/* ---- the values ---- */

static struct ntk_histogram make_histogram(struct ntk_snapshot *snapshot, uint32_t seed)
{
    static struct ntk_histogram_dense dense;

    ntk_histogram_dense_reset(&dense);
    for (uint64_t i = 0; i < LATENCIES; i++) {
        uint64_t mix = (seed * UINT64_C(64) + i) * UINT64_C(0x9e3779b97f4a7c15) >> 40;
        ntk_histogram_dense_record(&dense, 2000000 + mix % 400000);
    }
    return ntk_snapshot_histogram(snapshot, &dense);
}

static void fill_lists(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                       uint32_t index)
{
    runtime->cores = ntk_snapshot_alloc(snapshot, CORES_EACH, sizeof *runtime->cores);
    runtime->core_count = CORES_EACH;
    for (uint32_t c = 0; c < CORES_EACH; c++) {
        runtime->cores[c] = (struct ntk_core_sample){
            .core = (index * CORES_EACH + c) % NTK_POINTS_CORES_MAX,
            .has = NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EXECUTIONS,
            .utilization = (double)(index * 7919 % 1000003) / 1000003,
        };
    }
    runtime->memory = ntk_snapshot_alloc(snapshot, MEMORY_ROWS, sizeof *runtime->memory);
    runtime->memory_count = MEMORY_ROWS;
    for (uint32_t m = 0; m < MEMORY_ROWS; m++) {
        uint64_t bytes = UINT64_C(1000000) * (m + 1) + index * UINT64_C(4096);
        runtime->memory[m] =
            (struct ntk_memory_sample){ .location = NTK_MEMORY_DEVICE,
                                        .core = (uint16_t)runtime->cores[m % CORES_EACH].core,
                                        .category = (uint16_t)(m / CORES_EACH + 1),
                                        .current_bytes = bytes,
                                        .peak_bytes = bytes };
    }
    struct ntk_model_sample *models = ntk_snapshot_alloc_models(snapshot, runtime, MODELS_EACH);
    for (uint32_t m = 0; m < MODELS_EACH; m++) {
        models[m].has =
            NTK_MODEL_HAS_EXECUTIONS | NTK_MODEL_HAS_LATENCY | NTK_MODEL_HAS_DEVICE_LATENCY;
        models[m].id = 10001 + m;
        models[m].name = ntk_snapshot_format(snapshot, "llama_3_layer_%u.neff", m);
        models[m].loaded = true;
        models[m].core = runtime->cores[0].core;
        models[m].core_count = CORES_EACH;
        models[m].total_latency = make_histogram(snapshot, index * MODELS_EACH + m);
        models[m].device_latency = models[m].total_latency;
    }
}

static struct ntk_snapshot *make_snapshot(void)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();

    rounds_require(snapshot != NULL, "out of memory");
    snapshot->realtime_ns = UINT64_C(1700000000000000000);
    snapshot->period_ns = UINT64_C(1000000000);
    snapshot->instance.id = "i-0123456789abcdef0";
    snapshot->instance.name = "trainer-17";
    snapshot->instance.type = "trn2.48xlarge";
    snapshot->instance.region = "us-west-2";
    snapshot->instance.availability_zone = "us-west-2b";
    snapshot->instance.subnet_id = "subnet-0123456789abcdef0";
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc_runtimes(snapshot, APPLICATIONS);
    rounds_require(runtimes != NULL, "out of memory");
    for (uint32_t r = 0; r < APPLICATIONS; r++) {
        runtimes[r].pid = runtimes[r].header_pid = 1000 + r;
        runtimes[r].tag = ntk_snapshot_format(snapshot, "worker-%u", r);
        runtimes[r].lnc = 1;
        runtimes[r].has = NTK_RUNTIME_HAS_CPU | NTK_RUNTIME_HAS_RSS | NTK_RUNTIME_HAS_MEMORY |
                          NTK_RUNTIME_HAS_EXECUTIONS | NTK_RUNTIME_HAS_CORES |
                          NTK_RUNTIME_HAS_MODELS;
        runtimes[r].vcpu_user = 0.02 + r * 1e-7;
        runtimes[r].rss_bytes = 3000000000u + r * UINT64_C(4096);
        runtimes[r].outcome[NTK_OUTCOME_COMPLETED].period = LATENCIES * MODELS_EACH;
        runtimes[r].total_latency = make_histogram(snapshot, r);
        runtimes[r].device_latency = runtimes[r].total_latency;
        fill_lists(snapshot, &runtimes[r], r);
    }
    return snapshot;
}

/* ---- the page ---- */

struct subject {
    const struct ntk_points_page *page;
    uint64_t samples;
    uint64_t bytes;
    uint64_t sum; /* of the bytes, so that each part is read */
    double memory_bytes;
};

static uint64_t status_bytes(const char *key)
{
    char text[8192];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    rounds_require(count > 0, "/proc/self/status");
    (void)close(fd);
    text[count] = '\0';
    const char *line = strstr(text, key);
    return line ? strtoull(line + strlen(key), NULL, 10) << 10 : 0;
}

/* Resets the peak: VmHWM equals VmRSS from here on. */
static void peak_reset(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

    rounds_require(fd >= 0 && write(fd, "5", 1) == 1, "/proc/self/clear_refs");
    (void)close(fd);
}

/* The CPU time of writing and reading; counting lines is not included. */
static double measure_page(void *ctx)
{
    struct subject *subject = ctx;
    struct ntk_buf out = { 0 };
    bool has_more = true;
    double cpu_ns = 0;

    subject->samples = subject->bytes = 0;
    peak_reset();
    uint64_t before = status_bytes("VmRSS:");
    struct ntk_prometheus_parts *parts =
        ntk_prometheus_parts_create(subject->page, NTK_PROMETHEUS_TEXT_0_0_4, false);
    rounds_require(parts != NULL, "out of memory");
    while (has_more) {
        static char sent[1 << 16];
        uint64_t begin = rounds_cpu_ns();

        ntk_buf_reset(&out);
        has_more = ntk_prometheus_parts_next(parts, PART_BYTES, &out);
        for (size_t at = 0; at < out.bytes_count; at += sizeof sent) {
            size_t rest = out.bytes_count - at;
            memcpy(sent, out.bytes + at, rest < sizeof sent ? rest : sizeof sent);
            subject->sum += (unsigned char)sent[subject->sum % sizeof sent];
        }
        cpu_ns += (double)(rounds_cpu_ns() - begin);
        rounds_require(ntk_buf_ok(&out), "out of memory");
        subject->bytes += out.bytes_count;
        for (const char *at = ntk_buf_text_get(&out); *at; at = strchr(at, '\n') + 1) {
            subject->samples += *at != '#';
        }
    }
    double memory_bytes = (double)(status_bytes("VmHWM:") - before);
    subject->memory_bytes =
        memory_bytes > subject->memory_bytes ? memory_bytes : subject->memory_bytes;
    ntk_prometheus_parts_destroy(parts);
    ntk_buf_fini(&out);
    return cpu_ns / (double)subject->samples;
}

int main(int argc, char **argv)
{
    static struct ntk_points_page page;
    struct subject subject = { .page = &page };

    rounds_options(argc, argv);
    page.application_max = NTK_POINTS_TAGS_MAX;
    struct ntk_snapshot *snapshot = make_snapshot();
    rounds_require(ntk_points_page_update(&page, snapshot) == 0, "out of memory");
    ntk_snapshot_destroy(snapshot);
    struct rounds_subject rounds = { .name = "a sample", .measure = measure_page, .ctx = &subject };
    rounds_run(&rounds, 1, ROUNDS);
    rounds_print_value("samples", (double)subject.samples, "", 0, 0);
    rounds_print_value("bytes per sample", (double)subject.bytes / (double)subject.samples, "bytes",
                       0, 0);
    rounds_print(&rounds, "ns");
    rounds_print_best("a million samples", rounds_min(&rounds), rounds_median(&rounds), "ms",
                      MS_TARGET, 0);
    rounds_print_value("memory beyond the values", subject.memory_bytes / (1 << 20), "MiB",
                       MIB_TARGET, 0);
    double before = (double)status_bytes("VmRSS:");
    struct ntk_points_page *frozen = calloc(1, sizeof *frozen);
    rounds_require(frozen && ntk_points_page_freeze(&page, frozen) == 0, "out of memory");
    double frozen_bytes = (double)status_bytes("VmRSS:") - before;
    ntk_points_page_fini(frozen);
    free(frozen);
    rounds_print_value("copy of the values, if newer ones arrive", frozen_bytes / (1 << 20), "MiB",
                       0, 0);
    ntk_points_page_fini(&page);
    return rounds_result();
}
