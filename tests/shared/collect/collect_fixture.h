/* SPDX-License-Identifier: MIT */
/*
 * collect_fixture - a collector on a scratch folder, and children with hooks that take commands
 * through a pipe.
 *
 * Owner:   collect_setup() / collect_teardown(), for cmocka; child_start() / child_end().
 */
#ifndef NTK_TESTS_SHARED_COLLECT_COLLECT_FIXTURE_H
#define NTK_TESTS_SHARED_COLLECT_COLLECT_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "shared/collect/collect.h"
#include "tests/support/observed.h"

enum command {
    COMMAND_EXECUTE, /* performs argument executions on core 3 */
    COMMAND_BEGIN,   /* starts an execution that does not end */
    COMMAND_ALLOC,   /* allocates argument bytes of tensor memory */
    COMMAND_REFUSE,  /* one execution with NRT_STATUS 1002 */
    COMMAND_FAIL,    /* argument executions with NRT_STATUS 1003 */
    COMMAND_ECC,     /* argument corrected ECC errors on each of two devices, and a reset of one */
    COMMAND_BURN,    /* argument milliseconds of CPU time */
    COMMAND_AGAIN,   /* detaches, and attaches again */
    COMMAND_TURN,    /* the model is started, and stopped with NRT_STATUS 1201 */
    COMMAND_DIE,     /* argument executions with NRT_STATUS 101: the core is dead */
    COMMAND_TRACE,   /* argument: enum trace */
    COMMAND_MARKS,   /* argument marks */
    /* argument threads in turn: each names a trace, unless it is an even one, executes and ends */
    COMMAND_TRACE_THREADS,
    COMMAND_EXIT,
};
enum trace { TRACE_NONE, TRACE_SAMPLED, TRACE_UNSAMPLED };

struct fixture {
    char *folder;
    char *no_sysfs;
    struct ntk_collector *collector;
    struct ntk_snapshot *snapshot;
    size_t allocs; /* events of all snapshots */
};

struct observed child_start(void);
void child_tell(struct observed *child, enum command command, uint32_t argument);
void child_end(struct observed *child, int signal_number);
void collector_open(struct fixture *f, struct ntk_collector_options options);
struct ntk_snapshot *poll_collector(struct fixture *f);
int collect_setup(void **state);
int collect_teardown(void **state);
size_t files_in_folder(const struct fixture *f);
int drained_until_ended(void *ctx);

#endif
