/* SPDX-License-Identifier: MIT */
/*
 * attach_fixture - a job that makes the requested calls over a runtime that does nothing else, the
 * program that attaches to it as a user starts it, and its segment as any reader sees it.
 *
 * Every number must be exactly what the test has caused since attaching.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_ATTACH_ATTACH_FIXTURE_H
#define NTK_TESTS_RUNTIME_HOOKS_ATTACH_ATTACH_FIXTURE_H

#include <stdio.h>

#include "shared/ring/ring_registry.h"

struct attach_fixture {
    char *folder;
    char *hooks;
    char *neff;
    char *out; /* what the attached program printed */
    char *err;
    pid_t job;
    int to_job;
    FILE *from_job;
    pid_t attach;
    struct ntk_ring_registry *registry;
};

struct seen {
    uint64_t outcome[NTK_OUTCOME_COUNT];
    uint64_t in_flight;
    uint64_t busy_ns;
    uint64_t histogram;
    uint64_t sum_ns;
    uint64_t loads;
    size_t cores;
};

struct expectation {
    struct attach_fixture *f;
    uint64_t completed;
    uint64_t bytes;
    uint32_t flag;
};

#define ATTACH_TEST(name) cmocka_unit_test_setup_teardown(name, attach_setup, attach_teardown)

/* For main(): where the programs are; 77 if the kernel or its rules do not allow attaching. */
int attach_prepare(int argc, char **argv);
int attach_setup(void **state);
int attach_teardown(void **state);

/* ---- the job (client.c) ---- */

void job_start(struct attach_fixture *f);
/* The exit code of a job that exits by itself. */
int job_end(struct attach_fixture *f);
/* Sends a line, and returns when it is done. */
void job_tell(struct attach_fixture *f, const char *line);
void job_load(struct attach_fixture *f, const char *call, int vnc);
/* Sends a line with a command that lasts until the next one. */
void job_begin(struct attach_fixture *f, const char *line);
void job_finish(struct attach_fixture *f);
/* Whether the job's code equals its file: a probe replaces an instruction. */
int job_code_is_its_own(const struct attach_fixture *f);

/* ---- the program ---- */

/* Options of a test in which observing may cost any amount. */
extern const char *const at_any_cost[];

void attach_start(struct attach_fixture *f, const char *const *options);
/* whom: NULL: the job. */
void attach_start_to(struct attach_fixture *f, const char *whom, const char *const *options);
int attach_end(struct attach_fixture *f, int signal_number);
/* Its only child, which writes the segment. */
pid_t attach_writer(const struct attach_fixture *f);
/* A small file: f->out, f->err. */
char *attach_read_file(const char *path);
/* Waits until the program prints it. */
void attach_expect_reported(const struct attach_fixture *f, const char *text);

/* ---- the segment ---- */

struct ntk_ring_segment *segment_get(struct attach_fixture *f);
/* For test_wait_until(): of a struct attach_fixture, a struct expectation. */
int segment_is_gone(void *ctx);
int segment_has_flag(void *ctx);
void seen_now(struct attach_fixture *f, struct seen *out);
uint64_t tensor_bytes(struct attach_fixture *f, uint8_t category);
/* These wait. */
void expect_completed(struct attach_fixture *f, uint64_t completed);
void expect_tensors(struct attach_fixture *f, uint64_t bytes);

#endif
