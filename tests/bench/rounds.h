/* SPDX-License-Identifier: MIT */
/*
 * rounds - measures several things in turn, so that all of them meet the same moods of the machine,
 * and compares minimum with minimum and median with median.
 */
#ifndef NTK_TESTS_BENCH_ROUNDS_H
#define NTK_TESTS_BENCH_ROUNDS_H

#include <stdint.h>

#define ROUNDS_MAX 31
#define ROUNDS_SUBJECTS_MAX 16

struct rounds_subject {
    const char *name;
    double (*measure)(void *ctx); /* one round: ns per unit */
    void *ctx;
    double values[ROUNDS_MAX]; /* sorted when done */
    int count;
};

/* Runs all subjects round after round, and a first round that does not count. */
void rounds_run(struct rounds_subject *subjects, int subject_count, int rounds);
double rounds_min(const struct rounds_subject *subject);
double rounds_median(const struct rounds_subject *subject);

/* Prints "name  min  median" of a subject. */
void rounds_print(const struct rounds_subject *subject, const char *unit);
/* Prints the ratio of a to b against a target (0: none) and a verdict: "good" when minimum or
 * median meets it, "within noise" when it is past it by less than the 1.3 that noise may take, else
 * "MISSED". Returns 0 when missed, else 1. */
int rounds_print_ratio(const char *name, const struct rounds_subject *a,
                       const struct rounds_subject *b, double target);
/* A figure that stands for itself; target 0 none, at_least: it is to be above. */
int rounds_print_value(const char *name, double value, const char *unit, double target,
                       int at_least);
/* One to be below that noise does not excuse, since it comes out the same every time: "good" or
 * "MISSED". */
int rounds_print_exact(const char *name, double value, const char *unit, double target);

/* --json: one object per line instead of a table. */
extern int rounds_json;
void rounds_options(int argc, char **argv);
/* Pins the calling thread to the n-th CPU it may use; 0, or -1 when there are not so many. */
int rounds_pin(int n);
uint64_t rounds_now_ns(void);
/* CPU time of the calling thread: what others do on the machine counts less. */
uint64_t rounds_cpu_ns(void);

#endif
