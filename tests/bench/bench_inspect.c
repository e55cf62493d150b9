/* SPDX-License-Identifier: MIT */
/*
 * What opening and analysing the folder of an inspection costs, by the vendor's runtime and by
 * ours: time per million records, and memory, which must not depend on the number of records. The
 * folders are written here: four rings of executions with their device spans, allocations and
 * copies; four ranks of ours with collectives. NTK_BENCH_RECORDS sets the number of records of each
 * (default ten million).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/rounds.h"
#include "tests/support/rank_world.h"
#include "tests/support/scratch.h"
#include "tests/support/vendor_folder.h"

#define RECORDS ROUNDS_SIZE(10000000, 20000)
#define RINGS 4
#define MODEL " model_id=77"
#define ROUND_COUNT 3
#define SECONDS_TARGET 2.0
#define MEMORY_TARGET_MIB 256.0
#define FLUSH_BYTES ((size_t)4 << 20)
#define MIB (1024.0 * 1024.0)
#define MILLION 1e6

struct folder {
    char *path;
    const char *command, *name; /* arguments of neuron-profile; name: an analysis, or NULL */
    uint64_t records, bytes;
    double memory_mib;   /* of the last run */
    double wall_seconds; /* ... per million records */
};

/* One execution: 22 records in 100 us. */
static void execution_add(struct vendor_folder *to, uint32_t ring, uint64_t exec, uint64_t at)
{
    static const struct {
        const char *type, *start, *stop;
        uint64_t from, until;
        uint32_t thread;
    } spans[] = {
        { "nrt_dma_mem_alloc", " usage_type=tensor hbm_idx=0 mla_idx=0 is_nc_hbm=1 is_aligned=0",
          " allocated_bytes=64 total_bytes=1064 usage_type_total_bytes=64 "
          "physical_address=0x8005c03e7000 return_code=0",
          0, 900, 10 },
        { "nrt_tensor_write", " size=64 tensor_id=202982732869795", "", 1000, 3000, 10 },
        { "dmem_buf_copyin", " size=64 offset=0 mem_handle=632292976 mem_type=2", "", 1100, 2900,
          10 },
        { "nrt_execute", MODEL, "", 4000, 90000, 10 },
        { "nrt_model_submit", MODEL, "", 4100, 9000, 10 },
        { "kbl_exec_pre", MODEL " exec_id=%llu", "", 4200, 8000, 10 },
        { "kbl_exec_wait", MODEL " exec_id=%llu", "", 9000, 80000, 11 },
        { "nc_model_switch",
          MODEL " exec_id=%llu device_core_idx=4 nc_timestamp_ns=257063241489634",
          " nc_timestamp_ns=257063241498659", 9500, 9900, 11 },
        { "nc_exec_running", " exec_id=%llu device_core_idx=4 nc_timestamp_ns=257063241498730",
          " nc_timestamp_ns=257063241568730", 10000, 80000, 11 },
        { "kbl_exec_post", MODEL " exec_id=%llu", "", 81000, 85000, 11 },
        { "nrt_dma_mem_dealloc",
          " usage_type=tensor hbm_idx=0 mla_idx=0 is_nc_hbm=1 physical_address=0x8005c03e7000",
          " freed_bytes=64 total_bytes=1000 usage_type_total_bytes=0", 91000, 91500, 10 },
    };

    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        char start[256];
        char stop[256];
        int head = snprintf(start, sizeof start, "nc_idx=%u worker_gid=%u", ring, ring);

        (void)snprintf(start + head, sizeof start - (size_t)head, spans[i].start,
                       (unsigned long long)exec);
        (void)snprintf(stop, sizeof stop, "nc_idx=%u worker_gid=%u%s", ring, ring, spans[i].stop);
        struct vendor_moment moment = { .type = spans[i].type,
                                        .phase = NTK_VENDOR_TRACE_START,
                                        .time_ns = at + spans[i].from,
                                        .thread = 100 * ring + spans[i].thread,
                                        .ring = 4 * ring,
                                        .pairs = start };
        moment.tracking_id = vendor_folder_add(to, &moment);
        moment.phase = NTK_VENDOR_TRACE_STOP;
        moment.time_ns = at + spans[i].until;
        moment.pairs = stop;
        (void)vendor_folder_add(to, &moment);
    }
}

static struct folder folder_write(const char *below, uint64_t records)
{
    struct folder folder = { .path = test_scratch_path(below, "i-bench_pid_41") };
    struct vendor_folder to;
    uint64_t executions = records / RINGS / 22;

    rounds_require(mkdir(folder.path, 0755) == 0, "cannot make a folder");
    vendor_folder_init(&to, 3);
    char *path = test_scratch_path(folder.path, "ntrace.pb");
    FILE *file = fopen(path, "wb");
    rounds_require(file != NULL, path);
    for (uint32_t ring = 0; ring < RINGS; ring++) {
        for (uint64_t e = 0; e < executions; e++) {
            execution_add(&to, ring, RINGS * e + ring, UINT64_C(1773237645742008195) + 100000 * e);
            if (to.records.bytes_count > FLUSH_BYTES || e + 1 == executions) {
                folder.bytes += to.records.bytes_count;
                rounds_require(fwrite(to.records.bytes, 1, to.records.bytes_count, file) ==
                                   to.records.bytes_count,
                               path);
                ntk_buf_reset(&to.records);
            }
        }
    }
    rounds_require(fclose(file) == 0, path);
    folder.records = RINGS * executions * 22;
    to.info.begin_ns = UINT64_C(1773237645742000000);
    to.info.end_ns = to.info.begin_ns + 100000 * (executions + 1);
    vendor_folder_write_info(&to, folder.path);
    vendor_folder_fini(&to);
    free(path);
    return folder;
}

#define RANKS 4
#define RUNS 7 /* executions between two collectives: 16 events with the collective */

static struct folder own_folder_write(const char *below, uint64_t records)
{
    struct folder folder = { .path = test_scratch_path(below, "ours") };
    struct rank_world world = { .ranks = RANKS,
                                .per_host = RANKS,
                                .collectives = (uint32_t)(records / RANKS / (2 * RUNS + 2)),
                                .runs = RUNS,
                                .seed = 1,
                                .is_numbered = true,
                                .late = 1,
                                .broken = RANK_WORLD_NO_RANK };
    struct rank_world_sums sums;

    rounds_require(mkdir(folder.path, 0755) == 0 && rank_world_write(&world, folder.path, &sums),
                   "cannot write our traces");
    folder.bytes = world.bytes;
    folder.records = (uint64_t)RANKS * world.collectives * (2 * RUNS + 2);
    return folder;
}

/* Runs neuron-profile on the folder as its own process; returns seconds of processor time, user and
 * system, per million records. */
static double ask(void *ctx)
{
    struct folder *folder = ctx;
    const char *const arguments[] = { "neuron-profile", folder->command, "-d",
                                      folder->path,     folder->name,    NULL };
    struct rusage usage;
    uint64_t took_ns = rounds_profile(folder->path, arguments, &usage);

    double millions = (double)folder->records / MILLION;
    folder->wall_seconds = (double)took_ns / 1e9 / millions;
    folder->memory_mib = (double)usage.ru_maxrss / 1024;
    return ((double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
            (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6) /
           millions;
}

static void analyze(struct folder *folder, const char *prefix)
{
    /* Each analysis needs all spans in a different order. */
    static const char *const analyses[] = { "host-gaps", "ranks", "joined", "executions" };

    folder->command = "analyze";
    for (size_t i = 0; i < sizeof analyses / sizeof *analyses; i++) {
        char line[80];

        folder->name = analyses[i];
        double seconds = ask(folder);
        (void)snprintf(line, sizeof line, "%sanalyze %s, per million records", prefix, analyses[i]);
        rounds_print_value(line, seconds, "s", 0, 0);
        (void)snprintf(line, sizeof line, "%sanalyze %s, memory", prefix, analyses[i]);
        rounds_print_value(line, folder->memory_mib, "MiB", MEMORY_TARGET_MIB, 0);
    }
}

int main(int argc, char **argv)
{
    const char *asked = getenv("NTK_BENCH_RECORDS");
    char *scratch = test_scratch_create();

    rounds_options(argc, argv);
    uint64_t records = asked ? strtoull(asked, NULL, 10) : RECORDS;
    struct folder folder = folder_write(scratch, records);
    struct folder ours = own_folder_write(scratch, records);
    struct rounds_subject subject = { .name = "open, per million records",
                                      .measure = ask,
                                      .ctx = &folder };

    folder.command = "view";
    rounds_run(&subject, 1, ROUND_COUNT);
    rounds_print_value("records", (double)folder.records / MILLION, "million", 0, 0);
    rounds_print_value("file", (double)folder.bytes / MIB, "MiB", 0, 0);
    rounds_print_best("open, per million records", rounds_min(&subject), rounds_median(&subject),
                      "s", SECONDS_TARGET, 0);
    rounds_print_value("time that it took, last round", folder.wall_seconds, "s", 0, 0);
    rounds_print_value("memory", folder.memory_mib, "MiB", MEMORY_TARGET_MIB, 0);
    analyze(&folder, "");
    ours.command = "view";
    rounds_print_value("ours: open, per million records", ask(&ours), "s", SECONDS_TARGET, 0);
    rounds_print_value("ours: memory", ours.memory_mib, "MiB", MEMORY_TARGET_MIB, 0);
    analyze(&ours, "ours: ");
    test_scratch_destroy(scratch);
    free(folder.path);
    free(ours.path);
    return rounds_result();
}
