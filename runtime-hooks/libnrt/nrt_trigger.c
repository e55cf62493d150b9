/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_trigger.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime-hooks/core/core_thread.h"
#include "shared/abi/segment_abi.h"
#include "shared/base/clock.h"

#define LOOK_NS (5 * NTK_NS_PER_MS)   /* while a recording waits or runs */
#define LAST_NS (200 * NTK_NS_PER_MS) /* what began with the last number has a core by then */
#define EXECUTIONS_MAX UINT64_C(100000)
#define PATH_BYTES (NTK_TRIGGER_FOLDER_BYTES + 96)

static struct {
    struct ntk_core *core;
    struct ntk_segment_trigger *trigger; /* NULL: nobody listens */
    pthread_t thread;
    _Atomic bool is_over;
} listener;

/* Shared: who asks is another process. timeout NULL: for ever. */
static void word_wait(uint32_t *word, uint32_t value, const struct timespec *timeout)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT, value, timeout, NULL, 0);
}

static void word_wake(uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static uint32_t asked(const struct ntk_segment_trigger *trigger)
{
    return __atomic_load_n(&trigger->asked, __ATOMIC_ACQUIRE);
}

static void answer(struct ntk_segment_trigger *trigger, uint32_t number, int status,
                   const char *text)
{
    trigger->execution = ntk_core_execution_last(listener.core);
    trigger->status = status;
    (void)snprintf(trigger->text, sizeof trigger->text, "%s", text);
    __atomic_store_n(&trigger->answered, number, __ATOMIC_RELEASE);
    word_wake(&trigger->answered);
}

/* Until the last of them has ended, as far as can be told, or nobody wants them any more. */
static void executions_wait(const struct ntk_segment_trigger *trigger, uint32_t number,
                            uint64_t last, uint64_t timeout_ns)
{
    const struct timespec look = { .tv_nsec = LOOK_NS };
    uint64_t begin_ns = ntk_clock_monotonic_ns();
    uint64_t reached_ns = 0;

    while (!atomic_load(&listener.is_over) && asked(trigger) == number) {
        uint64_t now_ns = ntk_clock_monotonic_ns();
        uint64_t execution = ntk_core_execution_last(listener.core);

        if (execution > last && reached_ns == 0) {
            reached_ns = now_ns - LAST_NS + 2 * LOOK_NS; /* the one behind it has begun */
        } else if (execution == last && reached_ns == 0) {
            reached_ns = now_ns;
        }
        if ((reached_ns > 0 && now_ns - reached_ns >= LAST_NS) ||
            (timeout_ns > 0 && now_ns - begin_ns >= timeout_ns)) {
            return;
        }
        word_wait((uint32_t *)&trigger->asked, number, &look);
    }
}

/* Stops the recorder of a core and writes what it has. 0, 1 with a file, or -errno. */
static int core_save(const char *folder, uint32_t pid, uint32_t nc, uint64_t first,
                     uint64_t *inout_bytes, struct ntk_err *err)
{
    struct ntk_core_recording *recording = NULL;
    char path[PATH_BYTES];
    struct stat status;
    int ret = ntk_core_recorder_stop(listener.core, nc, NTK_CORE_RECORDER_TRIGGER, &recording, err);

    if (ret < 0) {
        return ret;
    }
    (void)snprintf(path, sizeof path, "%s/pid_%u_nc_%u_exec_%llu.ntff", folder, pid,
                   ntk_core_global(listener.core, nc), (unsigned long long)first);
    ret = ntk_core_recording_save(recording, path, err);
    ntk_core_recording_destroy(recording);
    if (ret == -ENODATA) {
        return 0; /* nothing ran there */
    }
    if (ret >= 0 && stat(path, &status) == 0) {
        *inout_bytes += (uint64_t)status.st_size;
    }
    return ret < 0 ? ret : 1;
}

static void record(struct ntk_segment_trigger *trigger, uint32_t number)
{
    char folder[NTK_TRIGGER_FOLDER_BYTES];
    uint64_t first = trigger->first_execution;
    uint64_t count = trigger->execution_count;
    uint64_t bytes_max = trigger->bytes_max;
    uint32_t pid = trigger->pid;
    uint32_t cores = ntk_core_count(listener.core);
    uint64_t each = bytes_max / cores / 4;
    struct ntk_core_recorder_options options = { .keeps = NTK_CORE_KEEPS_ALL,
                                                 .first_execution = first,
                                                 .execution_count = count,
                                                 .folder = folder,
                                                 .bounds = { each, each, each, each } };
    struct ntk_err err = { 0 };
    uint64_t bytes = 0;
    uint32_t files = 0;
    uint32_t started = 0;
    int ret = 0;

    trigger->file_count = 0;
    trigger->file_bytes = 0;
    memcpy(folder, trigger->folder, sizeof folder);
    if (folder[0] != '/' || !memchr(folder, '\0', sizeof folder) || count == 0 ||
        count > EXECUTIONS_MAX || first == 0 || first > UINT64_MAX - count) {
        answer(trigger, number, -EINVAL, "the request makes no sense");
        return;
    }
    while (started < cores && ret == 0) {
        ret = ntk_core_recorder_start(listener.core, started, NTK_CORE_RECORDER_TRIGGER, &options,
                                      &err);
        started += ret == 0;
    }
    if (ret == 0) {
        executions_wait(trigger, number, first + count - 1, trigger->timeout_ns);
    }
    for (uint32_t nc = 0; nc < started; nc++) {
        int saved = core_save(folder, pid, nc, first, &bytes, &err);

        files += saved > 0;
        ret = saved < 0 && ret == 0 ? saved : ret;
    }
    if (ret == 0 && files == 0) {
        ret = ntk_err_set(&err, -ENODATA, NTK_ERR_NO_OFFSET,
                          "no execution from number %llu on was recorded; the last one was %llu",
                          (unsigned long long)first,
                          (unsigned long long)ntk_core_execution_last(listener.core));
    }
    trigger->file_count = files;
    trigger->file_bytes = bytes;
    answer(trigger, number, ret, ret < 0 ? err.text : "");
}

static void *listen_run(void *ctx)
{
    struct ntk_segment_trigger *trigger = listener.trigger;
    uint32_t number = asked(trigger);

    (void)ctx;
    __atomic_store_n(&trigger->listening, 1, __ATOMIC_RELEASE);
    while (!atomic_load(&listener.is_over)) {
        uint32_t now = asked(trigger);

        if (now == number) {
            word_wait(&trigger->asked, number, NULL);
            continue;
        }
        number = now;
        if (trigger->command == NTK_TRIGGER_RECORD) {
            record(trigger, number);
        } else {
            answer(trigger, number, 0, "");
        }
    }
    __atomic_store_n(&trigger->listening, 0, __ATOMIC_RELEASE);
    return NULL;
}

void nrt_trigger_start(struct ntk_core *core)
{
    listener.core = core;
    listener.trigger = ntk_core_trigger_get();
    atomic_store(&listener.is_over, false);
    if (listener.trigger && ntk_core_thread_start(&listener.thread, listen_run, NULL) < 0) {
        listener.trigger = NULL; /* nobody answers, which whoever asks is told */
    }
}

void nrt_trigger_stop(void)
{
    if (!listener.trigger) {
        return;
    }
    atomic_store(&listener.is_over, true);
    /* It may be about to sleep: the word that it compares changes, too. */
    (void)__atomic_fetch_add(&listener.trigger->asked, 1, __ATOMIC_ACQ_REL);
    word_wake(&listener.trigger->asked);
    (void)pthread_join(listener.thread, NULL);
    listener.trigger = NULL;
}

void nrt_trigger_forget(void)
{
    listener.trigger = NULL;
}
