/* SPDX-License-Identifier: MIT */
#include "tests/bench/rounds.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOISE 1.3

int rounds_json;
int rounds_smoke;
static pid_t main_pid;
static char missed[1024]; /* names */

__attribute__((constructor)) static void begin(void)
{
    const char *smoke = getenv("NTK_BENCH_SMOKE");

    rounds_smoke = smoke && smoke[0];
    main_pid = getpid();
}

static _Noreturn void leave(int code)
{
    if (getpid() != main_pid) {
        _exit(code); /* a child must not undo what the parent prepared */
    }
    exit(code);
}

void rounds_require(int condition, const char *cause)
{
    if (!condition) {
        (void)fprintf(stderr, "%s: %s\n", program_invocation_short_name, cause);
        leave(1);
    }
}

_Noreturn void rounds_skip(const char *reason)
{
    (void)printf("skipped: %s\n", reason);
    leave(77);
}

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

    rounds = ROUNDS_SIZE(rounds, 1);
    for (round = ROUNDS_SIZE(-1, 0); round < rounds && round < ROUNDS_MAX; round++) {
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
        (void)printf("%-52s  min %9.2f  median %9.2f %s\n", subject->name, rounds_min(subject),
                     rounds_median(subject), unit);
    }
}

const char *rounds_verdict(double by_min, double by_median)
{
    if (by_median <= 1) {
        return "met";
    }
    if (by_min <= 1) {
        return "met (minimum only)";
    }
    return by_min <= NOISE || by_median <= NOISE ? "within noise" : "missed";
}

/* A figure without a verdict has no target. */
static void print_line(const char *name, const char *figure, const char *unit, const char *bound,
                       double target, const char *verdict)
{
    while (*name == ' ') {
        name++; /* the name is indented if its figure belongs to others */
    }
    if (verdict && rounds_smoke) {
        verdict = "not measured (smoke)";
    }
    if (verdict && strcmp(verdict, "missed") == 0) {
        size_t used = strlen(missed);
        (void)snprintf(missed + used, sizeof missed - used, "%s%s", used ? "; " : "", name);
    }
    if (rounds_json) {
        (void)printf("{\"name\":\"%s\",%s,\"unit\":\"%s\"", name, figure, unit);
        if (verdict) {
            (void)printf(",\"target\":%.4f,\"verdict\":\"%s\"", target, verdict);
        }
        (void)printf("}\n");
    } else if (verdict) {
        (void)printf("%-52s  %s %s  target %s %.3f %s  %s\n", name, figure, unit, bound, target,
                     unit, verdict);
    } else {
        (void)printf("%-52s  %s %s\n", name, figure, unit);
    }
    (void)fflush(stdout); /* before a fork copies the buffer */
}

void rounds_print_best(const char *name, double by_min, double by_median, const char *unit,
                       double target, int at_least)
{
    char figure[96];
    const char *verdict = NULL;

    (void)snprintf(figure, sizeof figure,
                   rounds_json ? "\"min\":%.4f,\"median\":%.4f" : "min %.3f  median %.3f", by_min,
                   by_median);
    if (target > 0) {
        verdict = rounds_verdict(at_least ? target / by_min : by_min / target,
                                 at_least ? target / by_median : by_median / target);
    }
    print_line(name, figure, unit, at_least ? ">=" : "<=", target, verdict);
}

void rounds_print_ratio(const char *name, const struct rounds_subject *a,
                        const struct rounds_subject *b, double target)
{
    rounds_print_best(name, rounds_min(a) / rounds_min(b), rounds_median(a) / rounds_median(b), "x",
                      target, 0);
}

static void print_value(const char *name, double value, const char *unit, const char *bound,
                        double target, const char *verdict)
{
    char figure[64];

    (void)snprintf(figure, sizeof figure, rounds_json ? "\"value\":%.4f" : "%.3f", value);
    print_line(name, figure, unit, bound, target, verdict);
}

void rounds_print_value(const char *name, double value, const char *unit, double target,
                        int at_least)
{
    double share = at_least ? target / value : value / target;

    print_value(name, value, unit, at_least ? ">=" : "<=", target,
                target > 0 ? rounds_verdict(share, share) : NULL);
}

void rounds_print_exact(const char *name, double value, const char *unit, double target)
{
    print_value(name, value, unit, "<=", target, value <= target ? "met" : "missed");
}

void rounds_print_missing(const char *name, const char *reason)
{
    if (rounds_json) {
        (void)printf("{\"name\":\"%s\",\"verdict\":\"not measured: %s\"}\n", name, reason);
    } else {
        (void)printf("%-52s  target  not measured: %s\n", name, reason);
    }
}

int rounds_result(void)
{
    (void)fflush(stdout);
    if (missed[0]) {
        (void)fprintf(stderr, "%s: missed: %s\n", program_invocation_short_name, missed);
    }
    return missed[0] ? 1 : 0;
}

uint64_t rounds_profile(const char *folder, const char *const *arguments, struct rusage *out_usage)
{
    const char *bin = getenv("NTK_BIN_DIR");
    char program[1024];
    int status = 0;

    (void)snprintf(program, sizeof program, "%s/neuron-profile", bin ? bin : ".");
    uint64_t start = rounds_now_ns();
    (void)fflush(NULL);
    pid_t pid = fork();
    rounds_require(pid >= 0, "fork");
    if (pid == 0) {
        (void)setenv("TMPDIR", folder, 1);
        (void)!freopen("/dev/null", "w", stdout);
        (void)execv(program, (char *const *)arguments);
        _exit(127);
    }
    rounds_require(wait4(pid, &status, 0, out_usage) == pid && status == 0, arguments[1]);
    return rounds_now_ns() - start;
}
