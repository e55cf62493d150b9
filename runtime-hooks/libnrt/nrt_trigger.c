/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime-hooks/core/core_thread.h"
#include "shared/abi/segment_abi.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"

#define LOOK_NS (5 * NTK_NS_PER_MS) /* polling interval while a recording waits or runs */
#define PATH_BYTES (NTK_TRIGGER_FOLDER_BYTES + 96)

static struct {
    struct ntk_core *core;
    const struct ntk_clock *clock;
    struct ntk_segment_trigger *trigger; /* NULL without a listener */
    pthread_t thread;
    _Atomic bool is_over;
    /* Unlinked files of the last recording, which another user may copy. */
    int held[NTK_TRIGGER_FILES_MAX];
    uint32_t held_count;
} listener;

/* Waits on a process-shared futex; without limit if timeout is NULL. Returns false after a
 * timeout. */
static bool word_wait(uint32_t *word, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, FUTEX_WAIT, value, timeout, NULL, 0) == 0 || errno != ETIMEDOUT;
}

static void word_wake(uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static uint32_t asked(const struct ntk_segment_trigger *trigger)
{
    return __atomic_load_n(&trigger->asked, __ATOMIC_ACQUIRE);
}

static void answer(struct ntk_segment_trigger *trigger, uint32_t number)
{
    __atomic_store_n(&trigger->answered, number, __ATOMIC_RELEASE);
    word_wake(&trigger->answered);
}

static void answer_set(struct ntk_segment_trigger *trigger, int status, const char *text)
{
    trigger->status = status;
    (void)snprintf(trigger->text, sizeof trigger->text, "%s", status != 0 ? text : "");
}

static void answer_clear(struct ntk_segment_trigger *trigger)
{
    trigger->execution = ntk_core_execution_last(listener.core);
    trigger->file_count = 0;
    trigger->file_bytes = 0;
    trigger->recorded_first = 0;
    trigger->recorded_last = 0;
    answer_set(trigger, 0, "");
}

/* Waits until all executions have ended, or are no longer needed. */
static void executions_wait(const struct ntk_segment_trigger *trigger, uint32_t number,
                            uint64_t count, uint64_t timeout_ns)
{
    const struct timespec look = { .tv_nsec = LOOK_NS };
    uint64_t begin_ns = ntk_clock_now_ns(listener.clock);

    while (!atomic_load(&listener.is_over) && asked(trigger) == number &&
           ntk_core_executions_ended(listener.core) < count &&
           (timeout_ns == 0 || ntk_clock_now_ns(listener.clock) - begin_ns < timeout_ns)) {
        (void)word_wait((uint32_t *)&trigger->asked, number, &look);
    }
}

/* ---- files for another user ------------------------------------------------------------------ */

/*
 * The asking process may belong to another user or mount namespace, so no folder suits both. The
 * files are written to a private folder of this user, opened, and unlinked; the asking process
 * opens them in /proc/PID/fd. So no file of this user is in a folder of the other user.
 */
static int hold_folder_make(char *folder, size_t folder_bytes, struct ntk_err *err)
{
    int bytes =
        snprintf(folder, folder_bytes, "%s/neuron-trigger-XXXXXX", ntk_fs_temporary_folder());

    if (bytes < 0 || (size_t)bytes >= folder_bytes || !mkdtemp(folder)) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot create a folder in '%s': %s",
                           ntk_fs_temporary_folder(), strerror(errno));
    }
    return 0;
}

static int hold(struct ntk_segment_trigger *trigger, const char *path, uint32_t core,
                struct ntk_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int ret = fd < 0 ? -errno : 0;

    (void)unlink(path);
    if (fd >= 0 && (listener.held_count == NTK_TRIGGER_FILES_MAX || fd >= 1 << 24)) {
        close(fd);
        ret = -EMFILE;
    }
    if (ret < 0) {
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot open '%s': %s", path,
                           strerror(-ret));
    }
    trigger->files[listener.held_count] = core << 24 | (uint32_t)fd;
    listener.held[listener.held_count++] = fd;
    return 0;
}

static void held_close(void)
{
    while (listener.held_count > 0) {
        close(listener.held[--listener.held_count]);
    }
}

/* Stops the recorder of a core and writes its recording. Returns 0 if nothing ran; 1 after writing
 * a file; 2 after writing an incomplete file, with the reason in err; -errno. */
static int core_save(struct ntk_segment_trigger *trigger, const char *folder, bool is_held,
                     uint32_t nc, uint64_t first, struct ntk_err *err)
{
    uint64_t lowest = 0;
    uint64_t highest = 0;
    struct ntk_core_recording *recording = NULL;
    char path[PATH_BYTES];
    struct stat status;
    int ret = ntk_core_recorder_stop(listener.core, nc, NTK_CORE_RECORDER_TRIGGER, &recording, err);

    if (ret < 0) {
        return ret;
    }
    (void)snprintf(path, sizeof path, "%s/pid_%u_nc_%u_exec_%llu.ntff", folder, trigger->pid,
                   ntk_core_global(listener.core, nc), (unsigned long long)first);
    ret = ntk_core_recording_save(recording, path, err);
    ntk_core_recording_range(recording, &lowest, &highest);
    ntk_core_recording_destroy(recording);
    if (ret < 0) {
        return ret == -ENODATA ? 0 : ret;
    }
    trigger->file_count++;
    trigger->file_bytes += stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
    int held = is_held ? hold(trigger, path, ntk_core_global(listener.core, nc), err) : 0;
    if (held < 0) {
        trigger->file_count--;
        return held;
    }
    if (trigger->recorded_first == 0 || lowest < trigger->recorded_first) {
        trigger->recorded_first = lowest;
    }
    if (highest > trigger->recorded_last) {
        trigger->recorded_last = highest;
    }
    return 1 + ret;
}

/* Drops the recording of a core. */
static void core_drop(uint32_t nc)
{
    struct ntk_core_recording *recording = NULL;
    struct ntk_err err = { 0 };

    if (ntk_core_recorder_stop(listener.core, nc, NTK_CORE_RECORDER_TRIGGER, &recording, &err) ==
        0) {
        ntk_core_recording_destroy(recording);
    }
}

static bool makes_sense(const char *folder, uint64_t first, uint64_t count)
{
    return (folder[0] == '/' || !folder[0]) && memchr(folder, '\0', NTK_TRIGGER_FOLDER_BYTES) &&
           count > 0 && count <= NTK_TRIGGER_EXECUTIONS_MAX && first > 0 &&
           first <= UINT64_MAX - count;
}

/* Returns the limit per kind of records; 0 for no limit. */
static uint64_t bytes_of_core(uint64_t bytes_max, uint32_t cores)
{
    uint64_t each = bytes_max / cores / ntk_core_lnc(listener.core) / 4;

    return bytes_max > 0 && each == 0 ? 1 : each;
}

static void record(struct ntk_segment_trigger *trigger, uint32_t number)
{
    char folder[NTK_TRIGGER_FOLDER_BYTES];
    uint64_t first = trigger->first_execution;
    uint64_t count = trigger->execution_count;
    uint32_t cores = ntk_core_count(listener.core);
    uint64_t each = bytes_of_core(trigger->bytes_max, cores);
    struct ntk_core_recorder_options options = { .keeps = NTK_CORE_KEEPS_ALL,
                                                 .first_execution = first,
                                                 .execution_count = count,
                                                 .folder = folder,
                                                 .bounds = { each, each, each, each } };
    struct ntk_err err = { 0 }; /* error of the first core */
    uint32_t started = 0;
    int ret = 0;

    answer_clear(trigger);
    memcpy(folder, trigger->folder, sizeof folder);
    if (!makes_sense(folder, first, count)) {
        answer_set(trigger, -EINVAL, "invalid request");
        return;
    }
    bool is_held = !folder[0];
    if (is_held && (ret = hold_folder_make(folder, sizeof folder, &err)) < 0) {
        answer_set(trigger, ret, err.text);
        return;
    }
    ntk_core_executions_watch(listener.core, first, count);
    if (ntk_core_execution_last(listener.core) >= first) {
        ret = ntk_err_set(&err, -EAGAIN, NTK_ERR_NO_OFFSET, "execution %llu has already started",
                          (unsigned long long)first);
    }
    while (started < cores && ret == 0) {
        ret = ntk_core_recorder_start(listener.core, started, NTK_CORE_RECORDER_TRIGGER, &options,
                                      &err);
        started += ret == 0;
    }
    bool is_recording = ret == 0;
    if (is_recording) {
        executions_wait(trigger, number, count, trigger->timeout_ns);
    }
    trigger->execution = ntk_core_execution_last(listener.core);
    ntk_core_executions_watch(listener.core, 0, 0);
    __atomic_store_n(&trigger->saving, 1, __ATOMIC_RELEASE);
    for (uint32_t nc = 0; nc < started && !is_recording; nc++) {
        core_drop(nc);
    }
    for (uint32_t nc = 0; nc < started && is_recording; nc++) {
        struct ntk_err own = { 0 };
        int saved = core_save(trigger, folder, is_held, nc, first, &own);

        if (saved < 0 && ret >= 0) {
            ret = saved;
            err = own;
        } else if (saved > 1 && ret == 0) {
            ret = 1;
            err = own;
        }
    }
    __atomic_store_n(&trigger->saving, 0, __ATOMIC_RELEASE);
    if (is_held) {
        (void)rmdir(folder);
    }
    if (ret == 0 && trigger->file_count == 0) {
        ret = ntk_err_set(
            &err, -ENODATA, NTK_ERR_NO_OFFSET,
            "no execution numbered %llu or higher before the timeout; the last one was %llu",
            (unsigned long long)first, (unsigned long long)trigger->execution);
    }
    answer_set(trigger, ret, err.text);
}

static void *listen_run(void *ctx)
{
    struct ntk_segment_trigger *trigger = listener.trigger;
    uint32_t number = asked(trigger);

    (void)ctx;
    __atomic_store_n(&trigger->listening, 1, __ATOMIC_RELEASE);
    while (!atomic_load(&listener.is_over)) {
        const struct timespec holding = { .tv_sec = NTK_TRIGGER_HOLD_SECONDS };
        uint32_t now = asked(trigger);

        if (now == number) {
            if (!word_wait(&trigger->asked, number, listener.held_count > 0 ? &holding : NULL)) {
                held_close();
            }
            continue;
        }
        held_close();
        number = now;
        if (trigger->command == NTK_TRIGGER_RECORD) {
            record(trigger, number);
        } else if (trigger->command == NTK_TRIGGER_LOOK) {
            answer_clear(trigger);
        } /* keep the result of a cancelled recording */
        answer(trigger, number);
    }
    held_close();
    __atomic_store_n(&trigger->listening, 0, __ATOMIC_RELEASE);
    return NULL;
}

void nrt_trigger_start(struct ntk_core *core, const struct ntk_clock *clock)
{
    listener.core = core;
    listener.clock = clock;
    listener.trigger = ntk_core_trigger_get();
    atomic_store(&listener.is_over, false);
    if (listener.trigger && ntk_core_thread_start(&listener.thread, listen_run, NULL) < 0) {
        listener.trigger = NULL; /* NULL shows the asking process that no thread answers */
    }
}

void nrt_trigger_stop(void)
{
    if (!listener.trigger) {
        return;
    }
    atomic_store(&listener.is_over, true);
    /* The thread may be about to sleep: change the word that it compares. */
    (void)__atomic_fetch_add(&listener.trigger->asked, 1, __ATOMIC_ACQ_REL);
    word_wake(&listener.trigger->asked);
    (void)pthread_join(listener.thread, NULL);
    listener.trigger = NULL;
}

void nrt_trigger_forget(void)
{
    listener.trigger = NULL;
    held_close();
}
