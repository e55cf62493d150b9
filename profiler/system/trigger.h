/* SPDX-License-Identifier: MIT */
/*
 * trigger - requests running processes to record executions, all starting with the same one: the
 * client of struct ntk_segment_trigger.
 *
 * Only users who may write a process's segment can send requests: its owner, and root. The process
 * answers in a separate thread; executions do not wait for it.
 *
 * Owner:   the caller provides the storage of targets; ntk_trigger_release() undoes _take().
 * Threads: one at a time.
 */
#ifndef NTK_PROFILER_SYSTEM_TRIGGER_H
#define NTK_PROFILER_SYSTEM_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/abi/segment_abi.h"
#include "shared/base/clock.h"
#include "shared/base/err.h"

struct ntk_trigger_target {
    uint32_t pid;
    char command[NTK_VERSION_TEXT_BYTES + 1];
    int64_t rank; /* rank in its first communicator; -1 if none */
    /* The members below are set by _take(). */
    uint32_t uid; /* uid of its owner */
    void *memory;
    size_t memory_bytes;
    int guard;
    struct ntk_segment_trigger *trigger;
    uint32_t asked;
    /* The members below are set by the answers. */
    bool is_answered;
    int status; /* 0; 1 if files lack records; -errno; a message is in err unless it is 0 */
    struct ntk_err err;
    uint64_t execution, file_bytes;
    uint64_t recorded_first, recorded_last; /* 0 if none */
    uint32_t file_count;
    uint32_t files[NTK_TRIGGER_FILES_MAX]; /* for a process that passes descriptors */
};

/* Claims the word of the process with this segment file. -EACCES: it belongs to another user;
 * -ENOTSUP: no listener; -EBUSY: another process has claimed it; messages have the process. */
int ntk_trigger_take(struct ntk_trigger_target *target, const char *segment_path,
                     struct ntk_err *err);
void ntk_trigger_release(struct ntk_trigger_target *target);

/* Sends the request. _wait() waits for the answer. */
void ntk_trigger_ask(struct ntk_trigger_target *target, enum ntk_trigger_command command);
void ntk_trigger_ask_record(struct ntk_trigger_target *target, uint64_t first, uint64_t count,
                            uint64_t bytes_max, uint64_t timeout_ns, const char *folder);

/* Returns true if the process cannot write to folders of this process, because it belongs to
 * another user or mount namespace. Then pass folder "" above and take the files with the next
 * function. */
bool ntk_trigger_hands_over(const struct ntk_trigger_target *target);
/* Copies the files of the answer to the folder, with this user as owner: at most bytes_max in total
 * (-EFBIG), and only files that the process owns. Then the process closes them. */
int ntk_trigger_files_take(struct ntk_trigger_target *target, uint64_t first, uint64_t bytes_max,
                           const char *folder, struct ntk_err *err);

/* Extra time for a process that is writing files at the timeout. */
#define NTK_TRIGGER_SAVE_NS (60 * NTK_NS_PER_SECOND)
/* Waits until all have answered or died, the timeout has passed on the clock (NULL: the system
 * clock), or continues (NULL: always true) is false. Returns true if all have answered or died.
 * Dead processes get -ESRCH. */
bool ntk_trigger_wait(const struct ntk_clock *clock, struct ntk_trigger_target *targets,
                      size_t count, uint64_t timeout_ns, bool (*continues)(void *ctx), void *ctx);

#endif
