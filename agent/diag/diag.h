/* SPDX-License-Identifier: MIT */
/*
 * diag - neuron-monitor diag: is this machine fit to work?
 *
 * diag.c reads options and decides what runs; diag_host checks the machine without load; diag_owner
 * finds the process that holds a core; diag_run starts one process per core (diag_worker) for the
 * tests, so that a hanging or crashing runtime ends only its own test; diag_answers has programs
 * with known answers, diag_memory and diag_ranks the other tests of a worker; diag_thresholds
 * judges figures; diag_write prints the results.
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

/* The highest is the worst, except SKIP. */
enum ntk_diag_verdict {
    NTK_DIAG_SKIP,
    NTK_DIAG_PASS,
    NTK_DIAG_WARN,
    NTK_DIAG_FAIL,
    NTK_DIAG_VERDICT_COUNT
};
extern const char *const ntk_diag_verdict_names[NTK_DIAG_VERDICT_COUNT];

/* Plain data: a worker sends it through a pipe. */
struct ntk_diag_result {
    uint32_t test; /* enum ntk_diag_test */
    uint32_t verdict;
    int32_t device;     /* -1: the machine */
    int32_t core;       /* logical; -1: not about a core */
    char part[32];      /* "matmul-bfloat16"; "": the whole test */
    bool is_corruption; /* wrong bytes without any error */
    bool has_figure;
    bool has_threshold; /* the figure was compared with a threshold */
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
    const char *neff;    /* a program of the user that must give the same result each time */
    const char *sysfs_root;
    bool is_software;          /* software NeuronCores: our own programs can run */
    bool has_driver;           /* tests of the software runtime reveal nothing about devices */
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
    bool has_runtime; /* a runtime that can test the cores */
    struct ntk_diag_thresholds thresholds;
    uint32_t cores[NTK_DIAG_CORES_MAX]; /* cores to test, ascending, logical */
    size_t core_count;
    uint64_t devices;       /* a bit per device to test */
    struct ntk_vec results; /* struct ntk_diag_result */
    /* Whether a job needs the core of `worker`: the worker is then stopped without a result. NULL:
     * no callback. */
    bool (*is_wanted)(const struct ntk_diag_plan *plan, uint32_t core, uint32_t worker);
    uint64_t given_back; /* number of repetitions */
    /* For ntk_diag_worker() and ntk_diag_owner_of(); NULL: the system's clock. */
    const struct ntk_clock *clock;
    int (*worker)(const struct ntk_diag_plan *plan, const struct ntk_diag_work *work, int fd);
    struct ntk_diag_owner (*owner_of)(const struct ntk_diag_plan *plan, uint32_t core);
};

/* The whole subcommand; argv[0] is "diag". The exit code. */
int ntk_diag_main(int argc, char **argv);

struct ntk_diag_result ntk_diag_result_make(enum ntk_diag_test test, enum ntk_diag_verdict verdict,
                                            int device, int core);
/* Judges the figure by the thresholds and stores the result. */
void ntk_diag_add(struct ntk_diag *diag, const struct ntk_diag_result *result);
__attribute__((format(printf, 2, 3))) void ntk_diag_say(struct ntk_diag_result *result,
                                                        const char *format, ...);
/* The worst verdict; SKIP if nothing else ran. */
enum ntk_diag_verdict ntk_diag_worst(const struct ntk_diag *diag);

/* ---- the machine, without load ---- */

void ntk_diag_host(struct ntk_diag *diag, struct ntk_device_source *source);
void ntk_diag_links(struct ntk_diag *diag, struct ntk_device_source *source);
/* Error counters of the devices, read before and after the tests. */
struct ntk_diag_counters {
    size_t count;
    struct ntk_device_reading readings[NTK_DEVICES_MAX];
};
void ntk_diag_counters_take(struct ntk_device_source *source, struct ntk_diag_counters *counters);
void ntk_diag_counters_compare(struct ntk_diag *diag, const struct ntk_diag_counters *before,
                               const struct ntk_diag_counters *after);

/* ---- owners of cores ---- */

struct ntk_diag_owner {
    uint32_t pid; /* 0: none */
    char command[64];
};
/* The process that has the core: 0 or a pid of this machine. Without a software machine, the
 * process that has its device open. The caller and its children are ignored. */
struct ntk_diag_owner ntk_diag_owner_of(const struct ntk_diag_plan *plan, uint32_t core);
/* Waits until no process holds a tested core: 0, or -EBUSY with the process. */
int ntk_diag_owner_await(const struct ntk_diag *diag, uint64_t wait_ns, struct ntk_err *err);
/* For a worker that gives way: whether a process waits for its core or has opened its device. */
bool ntk_diag_owner_is_wanted(const struct ntk_diag_plan *plan, uint32_t core, uint32_t worker);
/* In a worker: announces that it gives way, for its lifetime. False: a process already waits for
 * the core. */
bool ntk_diag_owner_yield(const struct ntk_diag_plan *plan, uint32_t core);

/* ---- workers ---- */

/* The job of a worker process. */
enum ntk_diag_job {
    NTK_DIAG_JOB_LOOK,   /* queries the runtime's version and cores */
    NTK_DIAG_JOB_TESTS,  /* answers, patterns and, from level 3, copies */
    NTK_DIAG_JOB_RANK,   /* collectives, with the other cores */
    NTK_DIAG_JOB_BURN,   /* rounds until the time has passed */
    NTK_DIAG_JOB_CANARY, /* one answer */
};
struct ntk_diag_work {
    enum ntk_diag_job job;
    uint32_t core;
    uint32_t rank, ranks;
    uint32_t round; /* of the canary */
    char meeting[64];
};
/* Runs the workers, at most `at_once` at a time, and adds their results. */
void ntk_diag_run(struct ntk_diag *diag, const struct ntk_diag_work *works, size_t count,
                  size_t at_once);
/* In the child: returns the exit code, never to the caller's work. Results go to fd. */
int ntk_diag_worker(const struct ntk_diag_plan *plan, const struct ntk_diag_work *work, int fd);

/* Kinds of messages in the pipe. */
enum ntk_diag_message_kind {
    NTK_DIAG_BEGINS, /* result names the test */
    NTK_DIAG_RESULT,
    NTK_DIAG_MACHINE,
};
struct ntk_diag_message {
    uint32_t kind;
    struct ntk_diag_result result;
    struct ntk_diag_machine machine;
};

/* Stores the findings about cores for the collectors: wrong bytes without an error, or, if `all`
 * answers of a core are present and correct, that it is healthy. */
void ntk_diag_findings_keep(const struct ntk_diag *run, bool all);
/* The stored findings of the chosen cores, including this run: the input of their health. */
void ntk_diag_findings_look(struct ntk_diag *diag);

/* ---- the canary ---- */

#define NTK_DIAG_CHILD_OPTION "end-with-stdin" /* the parent is the agent; not in the help */

/* Runs programs with known answers on free cores, one per core and interval, until it is stopped,
 * its standard input closes (if bound to that), or all rounds are done (0: no limit). Returns the
 * exit code. */
struct ntk_diag_canary_options {
    uint64_t interval_ns;
    uint64_t rounds;
    bool json;
    bool ends_with_stdin;
};
int ntk_diag_canary(struct ntk_diag *diag, const struct ntk_diag_canary_options *options);
/* Starts the same as a child of the agent. */
int ntk_diag_canary_start(uint64_t interval_ns, struct ntk_child_tied *out_child,
                          struct ntk_err *err);

/* ---- output ---- */

void ntk_diag_write_text(const struct ntk_diag *diag, bool colours, struct ntk_buf *out);
void ntk_diag_write_json(const struct ntk_diag *diag, struct ntk_buf *out);
void ntk_diag_format_figure(char *buf, size_t buf_bytes, enum ntk_diag_unit unit, double figure);

#endif
