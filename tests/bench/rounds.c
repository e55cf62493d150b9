/* SPDX-License-Identifier: MIT */
#include "tests/bench/rounds.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOISE 1.3

int rounds_json;

uint64_t rounds_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t rounds_cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void rounds_options(int argc, char **argv)
{
    int i;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            rounds_json = 1;
        } else {
            (void)fprintf(stderr, "%s: unknown option %s\n", argv[0], argv[i]);
            exit(2);
        }
    }
}

int rounds_pin(int n)
{
    static cpu_set_t allowed;
    static int known;
    cpu_set_t one;
    int cpu;

    if (!known) {
        if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
            return -1;
        }
        known = 1;
    }
    for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && n-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0 ? 0 : -1;
        }
    }
    return -1;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return left < right ? -1 : left > right;
}

void rounds_run(struct rounds_subject *subjects, int subject_count, int rounds)
{
    int round;
    int i;

    for (round = -1; round < rounds && round < ROUNDS_MAX; round++) {
        for (i = 0; i < subject_count; i++) {
            double value = subjects[i].measure(subjects[i].ctx);

            if (round >= 0) {
                subjects[i].values[round] = value;
                subjects[i].count = round + 1;
            }
        }
    }
    for (i = 0; i < subject_count; i++) {
        qsort(subjects[i].values, (size_t)subjects[i].count, sizeof(double), compare);
    }
}

double rounds_min(const struct rounds_subject *subject)
{
    return subject->values[0];
}

double rounds_median(const struct rounds_subject *subject)
{
    return subject->values[subject->count / 2];
}

void rounds_print(const struct rounds_subject *subject, const char *unit)
{
    if (rounds_json) {
        (void)printf("{\"name\":\"%s\",\"unit\":\"%s\",\"min\":%.3f,\"median\":%.3f}\n",
                     subject->name, unit, rounds_min(subject), rounds_median(subject));
    } else {
        (void)printf("%-52s min %9.2f  median %9.2f %s\n", subject->name, rounds_min(subject),
                     rounds_median(subject), unit);
    }
}

/* How far a figure (at most 1 meets its target) is from its target. A figure past the target by
 * less than what noise may take does not fail the run, yet is not called good. */
static const char *verdict(double share_of_target)
{
    return share_of_target <= 1 ? "good" : share_of_target <= NOISE ? "within noise" : "MISSED";
}

int rounds_print_ratio(const char *name, const struct rounds_subject *a,
                       const struct rounds_subject *b, double target)
{
    double by_min = rounds_min(a) / rounds_min(b);
    double by_median = rounds_median(a) / rounds_median(b);
    double share = target > 0 ? (by_min < by_median ? by_min : by_median) / target : 0;
    int good = share <= NOISE;

    if (rounds_json) {
        (void)printf("{\"name\":\"%s\",\"ratio_min\":%.4f,\"ratio_median\":%.4f,\"target\":%.4f,"
                     "\"verdict\":\"%s\"}\n",
                     name, by_min, by_median, target, verdict(share));
    } else if (target > 0) {
        (void)printf("%-52s min %8.3fx  median %8.3fx  target <= %.3fx  %s\n", name, by_min,
                     by_median, target, verdict(share));
    } else {
        (void)printf("%-52s min %8.3fx  median %8.3fx\n", name, by_min, by_median);
    }
    return good;
}

static void print_value(const char *name, double value, const char *unit, double target,
                        int at_least, const char *word)
{
    if (rounds_json) {
        (void)printf(
            "{\"name\":\"%s\",\"value\":%.3f,\"unit\":\"%s\",\"target\":%.3f,\"verdict\":\"%s\"}\n",
            name, value, unit, target, word);
    } else if (target > 0) {
        (void)printf("%-52s %13.2f %s  target %s %.2f  %s\n", name, value, unit,
                     at_least ? ">=" : "<=", target, word);
    } else {
        (void)printf("%-52s %13.2f %s\n", name, value, unit);
    }
}

int rounds_print_value(const char *name, double value, const char *unit, double target,
                       int at_least)
{
    double share = target <= 0 ? 0 : at_least ? target / value : value / target;

    print_value(name, value, unit, target, at_least, verdict(share));
    return share <= NOISE;
}

int rounds_print_exact(const char *name, double value, const char *unit, double target)
{
    print_value(name, value, unit, target, 0, value <= target ? "good" : "MISSED");
    return value <= target;
}
