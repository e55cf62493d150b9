/* SPDX-License-Identifier: MIT */
/*
 * diag - neuron-monitor diag: is this machine fit to work?
 *
 * diag.c reads options and decides what runs; diag_host looks at the machine without load;
 * diag_owner tells who has a core; diag_run starts a process per core (diag_worker) that runs the
 * tests there, so that a runtime that hangs or crashes ends no more than its own test; diag_answers
 * has the programs whose answers are known, diag_memory and diag_ranks the rest of what a worker
 * does; diag_thresholds judges figures, diag_write says all of it.
 *
 * Threads: one.
 */
#ifndef NTK_AGENT_DIAG_DIAG_H
#define NTK_AGENT_DIAG_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/diag/diag_thresholds.h"
#include "shared/base/buf.h"
#include "shared/base/child.h"
#include "shared/base/err.h"
#include "shared/base/vec.h"
#include "shared/device/device.h"

#define NTK_DIAG_LEVEL_MAX 4u
#define NTK_DIAG_CORES_MAX 128u

enum ntk_diag_unit {
    NTK_DIAG_NONE,
    NTK_DIAG_COUNT,
    NTK_DIAG_BYTES,
    NTK_DIAG_RATE, /* bytes per second */
    NTK_DIAG_SECONDS,
    NTK_DIAG_RATIO,
    NTK_DIAG_UNIT_COUNT
};

enum ntk_diag_test {
#define NTK_DIAG_TEST(symbol, ...) NTK_DIAG_##symbol##_TEST,
#include "agent/diag/diag.def"
    NTK_DIAG_TEST_COUNT
};
struct ntk_diag_test_row {
    const char *name;
    unsigned first_level, last_level;
    enum ntk_diag_unit unit;
    bool more_is_better;
    const char *sentence;
};
extern const struct ntk_diag_test_row ntk_diag_tests[NTK_DIAG_TEST_COUNT];

/* The worst is the highest, but for SKIP. */
enum ntk_diag_verdict {
    NTK_DIAG_SKIP,
    NTK_DIAG_PASS,
    NTK_DIAG_WARN,
    NTK_DIAG_FAIL,
    NTK_DIAG_VERDICT_COUNT
};
extern const char *const ntk_diag_verdict_names[NTK_DIAG_VERDICT_COUNT];

/* Plain data: a worker hands it on through a pipe. */
struct ntk_diag_result {
    uint32_t test; /* enum ntk_diag_test */
    uint32_t verdict;
    int32_t device;     /* -1: the machine */
    int32_t core;       /* logical; -1: not of a core */
    char part[32];      /* "matmul-bfloat16"; "": the test as a whole */
    bool is_corruption; /* wrong bytes without any error */
    bool has_figure;
    bool has_threshold; /* the figure was held against one */
    double figure;
    uint64_t took_ns;
    char reason[320];
};

/* What is requested. */
struct ntk_diag_plan {
    unsigned level;
    uint64_t duration_ns; /* of the burn-in */
    uint64_t memory_bytes;
    uint64_t timeout_ns; /* of a test */
    const char *neff;    /* a program of the user's that shall give the same each time */
    const char *sysfs_root;
    bool is_software;          /* software NeuronCores: programs of ours can run */
    bool has_driver;           /* tests of the software runtime would not show anything about
                                * devices */
    uint32_t tensor_columns;   /* of the smallest tensor engine */
    uint32_t cores_per_device; /* logical */
    uint32_t lnc;
};

struct ntk_diag_machine {
    char type[NTK_DEVICE_TEXT_BYTES]; /* "trn1.32xlarge"; "" unknown */
    char runtime[64];                 /* its version; "" unknown */
    char library[512];                /* its file */
    bool is_software;                 /* the library computes on software NeuronCores */
    uint32_t device_count;
    uint32_t core_count; /* logical */
};

struct ntk_clock;
struct ntk_diag_owner;
struct ntk_diag_work;

struct ntk_diag {
    struct ntk_diag_plan plan;
    struct ntk_diag_machine machine;
    bool has_runtime; /* one that can test the cores */
    struct ntk_diag_thresholds thresholds;
    uint32_t cores[NTK_DIAG_CORES_MAX]; /* that are tested, ascending, logical */
    size_t core_count;
    uint64_t devices;       /* bit per device that is tested */
    struct ntk_vec results; /* struct ntk_diag_result */
    /* Whether a job needs the core that `worker` has: then the worker is ended, without a result.
     * NULL: no callback. */
    bool (*is_wanted)(const struct ntk_diag_plan *plan, uint32_t core, uint32_t worker);
    uint64_t given_back; /* number of repetitions */
    /* NULL: the system's clock, ntk_diag_worker() and ntk_diag_owner_of(). */
    const struct ntk_clock *clock;
    int (*worker)(const struct ntk_diag_plan *plan, const struct ntk_diag_work *work, int fd);
    struct ntk_diag_owner (*owner_of)(const struct ntk_diag_plan *plan, uint32_t core);
};

/* The whole subcommand; argv[0] is "diag". The exit code. */
int ntk_diag_main(int argc, char **argv);

struct ntk_diag_result ntk_diag_result_make(enum ntk_diag_test test, enum ntk_diag_verdict verdict,
                                            int device, int core);
/* Judges the figure by the thresholds, then stores it. */
void ntk_diag_add(struct ntk_diag *diag, const struct ntk_diag_result *result);
__attribute__((format(printf, 2, 3))) void ntk_diag_say(struct ntk_diag_result *result,
                                                        const char *format, ...);
/* The worst; SKIP when nothing else ran. */
enum ntk_diag_verdict ntk_diag_worst(const struct ntk_diag *diag);

/* ---- the machine, without load ---- */

void ntk_diag_host(struct ntk_diag *diag, struct ntk_device_source *source);
void ntk_diag_links(struct ntk_diag *diag, struct ntk_device_source *source);
/* Counters of errors of the devices, to be taken twice. */
struct ntk_diag_counters {
    size_t count;
    struct ntk_device_reading readings[NTK_DEVICES_MAX];
};
void ntk_diag_counters_take(struct ntk_device_source *source, struct ntk_diag_counters *counters);
void ntk_diag_counters_compare(struct ntk_diag *diag, const struct ntk_diag_counters *before,
                               const struct ntk_diag_counters *after);

/* ---- who has what ---- */

struct ntk_diag_owner {
    uint32_t pid; /* 0: none */
    char command[64];
};
/* The process that has the core, 0 or a pid of this machine; without a software machine, the one
 * that has its device open. The process that asks and its children do not count. */
struct ntk_diag_owner ntk_diag_owner_of(const struct ntk_diag_plan *plan, uint32_t core);
/* Waits until no process has a core that is tested: 0, or -EBUSY with the process. */
int ntk_diag_owner_await(const struct ntk_diag *diag, uint64_t wait_ns, struct ntk_err *err);
/* For a worker that says it gives way: whether a process waits for its core, or has opened its
 * device. */
bool ntk_diag_owner_is_wanted(const struct ntk_diag_plan *plan, uint32_t core, uint32_t worker);
/* In a worker: says so, for as long as it lives. False: the core is wanted already. */
bool ntk_diag_owner_yield(const struct ntk_diag_plan *plan, uint32_t core);

/* ---- workers ---- */

/* What a process that has the core does. */
enum ntk_diag_job {
    NTK_DIAG_JOB_LOOK,   /* asks the runtime for its version and cores */
    NTK_DIAG_JOB_TESTS,  /* answers, patterns and, from level 3, copies */
    NTK_DIAG_JOB_RANK,   /* collectives, with the other cores */
    NTK_DIAG_JOB_BURN,   /* rounds until the time is up */
    NTK_DIAG_JOB_CANARY, /* one answer */
};
struct ntk_diag_work {
    enum ntk_diag_job job;
    uint32_t core;
    uint32_t rank, ranks;
    uint32_t round; /* of the canary */
    char meeting[64];
};
/* Runs them, `at_once` at a time; their results are added. */
void ntk_diag_run(struct ntk_diag *diag, const struct ntk_diag_work *works, size_t count,
                  size_t at_once);
/* In the child: never returns to the caller's work; the exit code. Results go to fd. */
int ntk_diag_worker(const struct ntk_diag_plan *plan, const struct ntk_diag_work *work, int fd);

/* What goes through the pipe. */
enum ntk_diag_message_kind {
    NTK_DIAG_BEGINS, /* result says which test */
    NTK_DIAG_RESULT,
    NTK_DIAG_MACHINE,
};
struct ntk_diag_message {
    uint32_t kind;
    struct ntk_diag_result result;
    struct ntk_diag_machine machine;
};

/* Keeps for the collectors what the results show about cores: wrong bytes without an error, or,
 * where `all` answers of a core are there and right, that it is well. */
void ntk_diag_findings_keep(const struct ntk_diag *run, bool all);
/* What is kept of the chosen cores, by this run too: the input of their health. */
void ntk_diag_findings_look(struct ntk_diag *diag);

/* ---- the canary ---- */

#define NTK_DIAG_CHILD_OPTION "end-with-stdin" /* the parent is the agent; not in any help */

/* Runs known answers on free cores, one per core and interval, until it is stopped, its standard
 * input ends where it is tied to that, or the rounds have ended (0: never). The exit code. */
struct ntk_diag_canary_options {
    uint64_t interval_ns;
    uint64_t rounds;
    bool json;
    bool ends_with_stdin;
};
int ntk_diag_canary(struct ntk_diag *diag, const struct ntk_diag_canary_options *options);
/* The same as a child of the agent. */
int ntk_diag_canary_start(uint64_t interval_ns, struct ntk_child_tied *out_child,
                          struct ntk_err *err);

/* ---- output ---- */

void ntk_diag_write_text(const struct ntk_diag *diag, bool colours, struct ntk_buf *out);
void ntk_diag_write_json(const struct ntk_diag *diag, struct ntk_buf *out);
void ntk_diag_format_figure(char *buf, size_t buf_bytes, enum ntk_diag_unit unit, double figure);

#endif
