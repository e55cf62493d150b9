/* SPDX-License-Identifier: MIT */
/*
 * rounds - measures several subjects in turn, so that all of them run under the same load, and
 * compares minimum with minimum and median with median.
 */
#ifndef NTK_TESTS_BENCH_ROUNDS_H
#define NTK_TESTS_BENCH_ROUNDS_H

#include <stdint.h>
#include <sys/resource.h>

#define ROUNDS_MAX 31
#define ROUNDS_SUBJECTS_MAX 16

struct rounds_subject {
    const char *name;
    double (*measure)(void *ctx); /* one round: ns per unit */
    void *ctx;
    double values[ROUNDS_MAX]; /* sorted when done */
    int count;
};

/* Runs all subjects round after round; a first round does not count. A smoke run has one round. */
void rounds_run(struct rounds_subject *subjects, int subject_count, int rounds);
double rounds_min(const struct rounds_subject *subject);
double rounds_median(const struct rounds_subject *subject);

/* Defines measure() of a subject that repeats one statement: the CPU time per execution of the
 * statement, over count executions. The statement may use i, from 0, and ctx. */
#define ROUNDS_MEASURE(measure, count, ...)                          \
    static double measure(void *ctx)                                 \
    {                                                                \
        const uint64_t repeated = (count);                           \
        uint64_t begin = rounds_cpu_ns();                            \
                                                                     \
        (void)ctx;                                                   \
        for (uint64_t i = 0; i < repeated; i++) {                    \
            __VA_ARGS__;                                             \
        }                                                            \
        return (double)(rounds_cpu_ns() - begin) / (double)repeated; \
    }

/* Prints "name  min  median" of a subject. */
void rounds_print(const struct rounds_subject *subject, const char *unit);
/*
 * Compares two ratios with 1; at most 1 meets the target. "met" requires the median. "met (minimum
 * only)": only the best round meets the target. "within noise" exceeds it by a factor below 1.3,
 * "missed" by more.
 */
const char *rounds_verdict(double by_min, double by_median);
/* Each prints one figure against a target (0: none) with a verdict, in the line that run.sh
 * collects. */
void rounds_print_ratio(const char *name, const struct rounds_subject *a,
                        const struct rounds_subject *b, double target);
/* at_least: the figure must be above the target. */
void rounds_print_best(const char *name, double by_min, double by_median, const char *unit,
                       double target, int at_least);
void rounds_print_value(const char *name, double value, const char *unit, double target,
                        int at_least);
/* For a target (0 is one) without tolerance for noise, because the figure is the same every
 * time. */
void rounds_print_exact(const char *name, double value, const char *unit, double target);
/* Reports a target that this machine cannot measure. */
void rounds_print_missing(const char *name, const char *reason);
/* The exit code of a bench: 1 if it missed a target, which it names. */
int rounds_result(void);

/* Exits and prints the cause: 1 failed, 77 skipped. */
void rounds_require(int condition, const char *cause);
_Noreturn void rounds_skip(const char *reason);

/* NTK_BENCH_SMOKE: one short round, no verdict. */
extern int rounds_smoke;
#define ROUNDS_SIZE(full, smoke) (rounds_smoke ? (smoke) : (full))

/* --json: one object per line instead of a table. */
extern int rounds_json;
void rounds_options(int argc, char **argv);
/* Runs neuron-profile with its temporary files in folder, and requires success. arguments start
 * with the name of the program and end with NULL. Returns the nanoseconds it took. */
uint64_t rounds_profile(const char *folder, const char *const *arguments, struct rusage *out_usage);
/* Pins the calling thread to the n-th CPU it may use; returns 0, or -1 if it has fewer CPUs. */
int rounds_pin(int n);
uint64_t rounds_now_ns(void);
/* CPU time of the calling thread, which is less sensitive to other load on the machine. */
uint64_t rounds_cpu_ns(void);

#endif
