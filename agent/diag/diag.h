/* SPDX-License-Identifier: MIT */
/*
 * diag - implements neuron-monitor diag: tests if this machine works correctly.
 *
 * diag.c reads options and decides what runs; diag_host checks the machine without load; diag_owner
 * finds the process on a core; diag_run starts one process per core (diag_worker) for the tests, so
 * that a hanging or crashing runtime ends only its own test; diag_answers has programs with known
 * answers, diag_memory and diag_ranks the other tests of a worker; diag_thresholds judges figures;
 * diag_write prints the results.
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
    NTK_DIAG_RATE, /* in bytes per second */
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

/* The highest value is the worst, except SKIP. */
enum ntk_diag_verdict {
    NTK_DIAG_SKIP,
    NTK_DIAG_PASS,
    NTK_DIAG_WARN,
    NTK_DIAG_FAIL,
    NTK_DIAG_VERDICT_COUNT
};
extern const char *const ntk_diag_verdict_names[NTK_DIAG_VERDICT_COUNT];

/* Result of a test; plain data, because a worker sends it through a pipe. */
struct ntk_diag_result {
    uint32_t test; /* value of enum ntk_diag_test */
    uint32_t verdict;
    int32_t device;     /* -1 for the machine */
    int32_t core;       /* logical core; -1 if the result is not about a core */
    char part[32];      /* such as "matmul-bfloat16"; "" for the whole test */
    bool is_corruption; /* true for wrong bytes without any error */
    bool has_figure;
    bool has_threshold; /* true if the figure was compared with a threshold */
    double figure;
    uint64_t took_ns;
    char reason[320];
};

/* The requested tests. */
struct ntk_diag_plan {
    unsigned level;
    uint64_t duration_ns; /* duration of the burn-in */
    uint64_t memory_bytes;
    uint64_t timeout_ns; /* timeout of a test */
    const char *neff;    /* program of the user that must produce the same result each time */
    const char *sysfs_root;
    bool is_software;          /* software NeuronCores, so programs of diag can run */
    bool has_driver;           /* tests of the software runtime reveal nothing about devices */
    uint32_t tensor_columns;   /* columns of the smallest tensor engine */
    uint32_t cores_per_device; /* logical cores */
    uint32_t lnc;
};

struct ntk_diag_machine {
    char type[NTK_DEVICE_TEXT_BYTES]; /* such as "trn1.32xlarge"; "" if unknown */
    char runtime[64];                 /* version of the runtime; "" if unknown */
    char library[512];                /* file of the library */
    bool is_software;                 /* true if the library computes on software NeuronCores */
    uint32_t device_count;
    uint32_t core_count; /* number of logical cores */
};

struct ntk_clock;
struct ntk_diag_owner;
struct ntk_diag_work;

struct ntk_diag {
    struct ntk_diag_plan plan;
    struct ntk_diag_machine machine;
    bool has_runtime; /* true if a runtime can test the cores */
    struct ntk_diag_thresholds thresholds;
    uint32_t cores[NTK_DIAG_CORES_MAX]; /* logical cores to test, ascending */
    size_t core_count;
    uint64_t devices;       /* one bit per device to test */
    struct ntk_vec results; /* elements are struct ntk_diag_result */
    /* Returns true if a job needs the core of `worker`; the worker is then stopped without a
     * result. NULL without a callback. */
    bool (*is_wanted)(const struct ntk_diag_plan *plan, uint32_t core, uint32_t worker);
    uint64_t given_back; /* number of repetitions stopped for a job */
    /* For ntk_diag_worker() and ntk_diag_owner_of(); NULL for the system clock. */
    const struct ntk_clock *clock;
    int (*worker)(const struct ntk_diag_plan *plan, const struct ntk_diag_work *work, int fd);
    struct ntk_diag_owner (*owner_of)(const struct ntk_diag_plan *plan, uint32_t core);
};

/* Runs the subcommand; argv[0] is "diag". Returns the exit code. */
int ntk_diag_main(int argc, char **argv);

struct ntk_diag_result ntk_diag_result_make(enum ntk_diag_test test, enum ntk_diag_verdict verdict,
                                            int device, int core);
/* Judges the figure by the thresholds and stores the result. */
void ntk_diag_add(struct ntk_diag *diag, const struct ntk_diag_result *result);
__attribute__((format(printf, 2, 3))) void ntk_diag_say(struct ntk_diag_result *result,
                                                        const char *format, ...);
/* Returns the worst verdict; SKIP if nothing else ran. */
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
    uint32_t pid; /* 0 if none */
    char command[64];
};
/* Returns the process that has the core: 0 or a pid of this machine. If it is not a software
 * machine, returns the process that has its device open. Ignores the caller and its children. */
struct ntk_diag_owner ntk_diag_owner_of(const struct ntk_diag_plan *plan, uint32_t core);
/* Waits until no process holds a tested core. Returns 0, or -EBUSY with the process. */
int ntk_diag_owner_await(const struct ntk_diag *diag, uint64_t wait_ns, struct ntk_err *err);
/* For a worker that yields: returns true if a process waits for its core or has opened its
 * device. */
bool ntk_diag_owner_is_wanted(const struct ntk_diag_plan *plan, uint32_t core, uint32_t worker);
/* In a worker: announces for its lifetime that it yields the core. Returns false if a process
 * already waits for the core. */
bool ntk_diag_owner_yield(const struct ntk_diag_plan *plan, uint32_t core);

/* ---- workers ---- */

/* Kind of work of a worker process. */
enum ntk_diag_job {
    NTK_DIAG_JOB_LOOK,   /* queries the runtime's version and cores */
    NTK_DIAG_JOB_TESTS,  /* runs answers, patterns and, from level 3, copies */
    NTK_DIAG_JOB_RANK,   /* runs collectives together with the other cores */
    NTK_DIAG_JOB_BURN,   /* runs rounds until the time has passed */
    NTK_DIAG_JOB_CANARY, /* runs one answer */
};
struct ntk_diag_work {
    enum ntk_diag_job job;
    uint32_t core;
    uint32_t rank, ranks;
    uint32_t round; /* round of the canary */
    char meeting[64];
};
/* Runs the workers, at most `at_once` at a time, and adds their results. */
void ntk_diag_run(struct ntk_diag *diag, const struct ntk_diag_work *works, size_t count,
                  size_t at_once);
/* Runs in the child; returns the exit code, and never to the caller's work. Results are sent to
 * fd. */
int ntk_diag_worker(const struct ntk_diag_plan *plan, const struct ntk_diag_work *work, int fd);

/* Kinds of messages in the pipe. */
enum ntk_diag_message_kind {
    NTK_DIAG_BEGINS, /* the result has the name of the test */
    NTK_DIAG_RESULT,
    NTK_DIAG_MACHINE,
};
struct ntk_diag_message {
    uint32_t kind;
    struct ntk_diag_result result;
    struct ntk_diag_machine machine;
};

/* Stores the findings about cores for the collectors: wrong bytes, but no error, or, if `all`
 * answers of a core are present and correct, that the core is healthy. */
void ntk_diag_findings_keep(const struct ntk_diag *run, bool all);
/* Collects the stored findings of the chosen cores, including this run, as input for their
 * health. */
void ntk_diag_findings_look(struct ntk_diag *diag);

/* ---- the canary ---- */

#define NTK_DIAG_CHILD_OPTION "end-with-stdin" /* set if the parent is the agent; not in the help */

/* Options of the canary, which runs programs with known answers on free cores, one per core and
 * interval, until it is stopped, its standard input closes (if bound to it), or all rounds are done
 * (0: no limit). ntk_diag_canary() returns the exit code. */
struct ntk_diag_canary_options {
    uint64_t interval_ns;
    uint64_t rounds;
    bool json;
    bool ends_with_stdin;
};
int ntk_diag_canary(struct ntk_diag *diag, const struct ntk_diag_canary_options *options);
/* Starts the canary as a child of the agent. */
int ntk_diag_canary_start(uint64_t interval_ns, struct ntk_child_tied *out_child,
                          struct ntk_err *err);

/* ---- output ---- */

void ntk_diag_write_text(const struct ntk_diag *diag, bool colours, struct ntk_buf *out);
void ntk_diag_write_json(const struct ntk_diag *diag, struct ntk_buf *out);
void ntk_diag_format_figure(char *buf, size_t buf_bytes, enum ntk_diag_unit unit, double figure);

#endif
