/* SPDX-License-Identifier: MIT */
/*
 * What joining the traces of 512 ranks costs: memory, which must not depend on the number of
 * operations, and time compared with a floor that only unpacks the same files piece by piece. The
 * files are those that our runtime writes. NTK_BENCH_COLLECTIVES sets the number of collectives per
 * rank (default 2,000) with 16 events each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/system/session_find.h"
#include "shared/formats/ntrace/ntrace.h"
#include "tests/bench/rounds.h"
#include "tests/support/rank_world.h"
#include "tests/support/scratch.h"

#define RANKS ROUNDS_SIZE(512, 64)
#define PER_HOST 32
#define RUNS 7 /* executions between two collectives */
#define COLLECTIVES ROUNDS_SIZE(2000, 40)
#define SMALLER 4 /* the other job has fewer by this factor */
#define ROUND_COUNT 3
#define MEMORY_TARGET_MIB 256.0
#define GROWTH_TARGET 1.2
#define FLOOR_TARGET 3.0
#define MIB (1024.0 * 1024.0)

struct job {
    char *folder;
    uint64_t bytes;
    double memory_mib; /* of the last run */
};

static struct job job_write(const char *below, const char *name, uint32_t collectives)
{
    struct rank_world world = { .ranks = RANKS,
                                .per_host = PER_HOST,
                                .collectives = collectives,
                                .runs = RUNS,
                                .seed = 1,
                                .is_numbered = true,
                                .host_ahead_ns = 1000000,
                                .late = 77,
                                .broken = RANK_WORLD_NO_RANK };
    struct rank_world_sums sums;
    struct job job = { .folder = test_scratch_path(below, name) };

    rounds_require(mkdir(job.folder, 0755) == 0 && rank_world_write(&world, job.folder, &sums),
                   "cannot write the traces");
    job.bytes = world.bytes;
    return job;
}

/* Runs neuron-profile analyze on the folder as its own process. */
static double analyze(void *ctx)
{
    struct job *job = ctx;
    const char *const arguments[] = {
        "neuron-profile", "analyze", "-d", job->folder, "joined", NULL
    };
    struct rusage usage;
    uint64_t took_ns = rounds_profile(job->folder, arguments, &usage);

    job->memory_mib = (double)usage.ru_maxrss / 1024;
    return (double)took_ns / (double)job->bytes;
}

static int piece_take(const NtkNtracePb__Trace *piece, void *ctx)
{
    *(uint64_t *)ctx += piece->cores[0]->n_tracking_id;
    return 0;
}

static double unpack(void *ctx)
{
    const struct job *job = ctx;
    struct ntk_vec paths;
    uint64_t events = 0;
    uint64_t start = rounds_now_ns();

    rounds_require(ntk_session_find(job->folder, &paths, NULL) == 0, "no folders");
    ntk_vec_each(char *, path, &paths) {
        char *file = test_scratch_path(*path, "ntrace.pb");

        rounds_require(ntk_ntrace_each(file, piece_take, &events, NULL) == 0, "a trace");
        free(file);
    }
    ntk_session_paths_fini(&paths);
    rounds_require(events > 0, "no events");
    return (double)(rounds_now_ns() - start) / (double)job->bytes;
}

int main(int argc, char **argv)
{
    const char *asked = getenv("NTK_BENCH_COLLECTIVES");
    uint32_t collectives = asked ? (uint32_t)strtoul(asked, NULL, 10) : COLLECTIVES;
    char *scratch = test_scratch_create();

    rounds_options(argc, argv);
    struct job small = job_write(scratch, "small", collectives / SMALLER);
    struct job large = job_write(scratch, "large", collectives);
    struct rounds_subject subjects[] = {
        { .name = "floor: pieces unpacked", .measure = unpack, .ctx = &large },
        { .name = "ranks joined", .measure = analyze, .ctx = &large },
    };

    rounds_run(subjects, 2, ROUND_COUNT);
    (void)analyze(&small);
    rounds_print_value("traces of 512 ranks", (double)large.bytes / MIB, "MiB", 0, 0);
    rounds_print(&subjects[0], "ns/byte");
    rounds_print(&subjects[1], "ns/byte");
    rounds_print_ratio("ranks joined / pieces unpacked", &subjects[1], &subjects[0], FLOOR_TARGET);
    rounds_print_value("memory", large.memory_mib, "MiB", MEMORY_TARGET_MIB, 0);
    rounds_print_value("memory / that of a fourth of the traces",
                       large.memory_mib / small.memory_mib, "x", GROWTH_TARGET, 0);
    test_scratch_destroy(scratch);
    free(small.folder);
    free(large.folder);
    return rounds_result();
}
