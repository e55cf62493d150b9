/* SPDX-License-Identifier: MIT */
#include "profiler/system/trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shared/abi/process_stat.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/fs.h"
#include "shared/base/map_guard.h"
#include "shared/base/str.h"

#define PAGE_BYTES 4096U
#define LOOK_NS (20 * NTK_NS_PER_MS)
#define COPY_BYTES ((size_t)1 << 20)
/* maximum attempts, because the segment's owner can change the word faster than this process */
#define TAKE_TRIES 16

/* Returns true if the process is gone or a zombie. */
static bool is_gone(uint32_t pid)
{
    char path[32];
    char text[NTK_STAT_BYTES] = "";

    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
    }
    ssize_t bytes = read(fd, text, sizeof text - 1);
    close(fd);
    return bytes <= 0 || ntk_process_stat_start_time(text) == 0;
}

/* Finds the position of the section, from an untrusted header. */
static int section_find(struct ntk_trigger_target *target, int fd, uint64_t *out_offset,
                        struct ntk_err *err)
{
    struct ntk_segment_header header;
    const struct ntk_segment_section *section = &header.section[NTK_SECTION_TRIGGER];
    struct stat status;
    int ret = ntk_fs_pread(fd, &header, sizeof header, 0);

    if (ret < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
        header.magic != NTK_SEGMENT_MAGIC) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                           "cannot read the segment of process %u", target->pid);
    }
    if (header.section_count <= NTK_SECTION_TRIGGER) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "process %u runs an older runtime that cannot record on request",
                           target->pid);
    }
    if (section->offset % NTK_SLOT_BYTES != 0 || section->count < 1 ||
        section->entry_bytes < sizeof *target->trigger ||
        section->offset > (uint64_t)status.st_size ||
        (uint64_t)status.st_size - section->offset < sizeof *target->trigger) {
        return ntk_err_set(err, -EBADMSG, (size_t)section->offset,
                           "the segment of process %u is too small for its declared sections",
                           target->pid);
    }
    target->uid = status.st_uid;
    *out_offset = section->offset;
    return 0;
}

/* Takes the word, which the caller owns until it returns the word or exits. */
static int word_take(struct ntk_trigger_target *target, struct ntk_err *err)
{
    uint32_t own = (uint32_t)getpid();
    uint32_t other = 0;

    if (__atomic_load_n(&target->trigger->listening, __ATOMIC_ACQUIRE) == 0) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "process %u (%s) runs a runtime that cannot record on request",
                           target->pid, target->command);
    }
    for (unsigned i = 0; i < TAKE_TRIES; i++) {
        if (__atomic_compare_exchange_n(&target->trigger->asker, &other, own, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            return 0;
        }
        if (other != 0 && other != own && !is_gone(other)) {
            break;
        }
    }
    return ntk_err_set(err, -EBUSY, NTK_ERR_NO_OFFSET,
                       "process %u (%s) is already handling a request from process %u", target->pid,
                       target->command, other);
}

static void unmap(struct ntk_trigger_target *target)
{
    if (target->memory) {
        if (target->guard >= 0) {
            ntk_map_guard_remove(target->guard);
        }
        munmap(target->memory, target->memory_bytes);
        target->memory = NULL;
    }
}

int ntk_trigger_take(struct ntk_trigger_target *target, const char *segment_path,
                     struct ntk_err *err)
{
    int fd = open(segment_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    uint64_t offset = 0;

    if (fd < 0) {
        return errno == EACCES ? ntk_err_set(err, -EACCES, NTK_ERR_NO_OFFSET,
                                             "process %u (%s) belongs to another user: only its "
                                             "owner and root can record it",
                                             target->pid, target->command)
                               : ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot open '%s': %s",
                                             segment_path, strerror(errno));
    }
    int ret = section_find(target, fd, &offset, err);
    if (ret == 0) {
        uint64_t page = offset / PAGE_BYTES * PAGE_BYTES;

        target->memory_bytes = (size_t)(offset - page) + sizeof *target->trigger;
        target->memory =
            mmap(NULL, target->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)page);
        if (target->memory == MAP_FAILED) {
            target->memory = NULL;
            ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot map '%s': %s", segment_path,
                              strerror(errno));
        } else {
            target->guard = ntk_map_guard_add(target->memory, target->memory_bytes);
            target->trigger = (void *)((char *)target->memory + (offset - page));
            ret = word_take(target, err);
        }
    }
    close(fd);
    if (ret < 0) {
        unmap(target);
    }
    return ret;
}

void ntk_trigger_release(struct ntk_trigger_target *target)
{
    if (target->memory) {
        __atomic_store_n(&target->trigger->asker, 0, __ATOMIC_RELEASE);
        unmap(target);
    }
}

void ntk_trigger_ask(struct ntk_trigger_target *target, enum ntk_trigger_command command)
{
    target->trigger->command = command;
    target->is_answered = false;
    target->asked = __atomic_add_fetch(&target->trigger->asked, 1, __ATOMIC_ACQ_REL);
    (void)syscall(SYS_futex, &target->trigger->asked, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void ntk_trigger_ask_record(struct ntk_trigger_target *target, uint64_t first, uint64_t count,
                            uint64_t bytes_max, uint64_t timeout_ns, const char *folder)
{
    target->trigger->pid = target->pid;
    target->trigger->timeout_ns = timeout_ns;
    target->trigger->first_execution = first;
    target->trigger->execution_count = count;
    target->trigger->bytes_max = bytes_max;
    (void)ntk_str_copy(target->trigger->folder, sizeof target->trigger->folder, folder);
    ntk_trigger_ask(target, NTK_TRIGGER_RECORD);
}

static void answer_take(struct ntk_trigger_target *target)
{
    const struct ntk_segment_trigger *trigger = target->trigger;
    char text[NTK_TRIGGER_TEXT_BYTES];

    target->is_answered = true;
    target->status = trigger->status;
    target->execution = trigger->execution;
    target->file_count = trigger->file_count;
    target->file_bytes = trigger->file_bytes;
    target->recorded_first = trigger->recorded_first;
    target->recorded_last = trigger->recorded_last;
    memcpy(target->files, trigger->files, sizeof target->files);
    if (target->status != 0) {
        memcpy(text, trigger->text, sizeof text);
        text[sizeof text - 1] = '\0';
        (void)ntk_str_clean(text, strlen(text));
        ntk_err_set(&target->err, target->status, NTK_ERR_NO_OFFSET, "process %u (%s): %s",
                    target->pid, target->command, text);
    }
}

/* ---- passed files ---------------------------------------------------------------------------- */

bool ntk_trigger_hands_over(const struct ntk_trigger_target *target)
{
    struct stat own;
    struct stat its;
    char path[48];

    (void)snprintf(path, sizeof path, "/proc/%u/ns/mnt", target->pid);
    return target->uid != geteuid() || (stat("/proc/self/ns/mnt", &own) == 0 &&
                                        stat(path, &its) == 0 && own.st_ino != its.st_ino);
}

/* Opens the descriptor of the process with this number, if it is an unnamed regular file of its
 * user. Others are not opened, because opening a pipe or device has side effects. */
static int held_open(const struct ntk_trigger_target *target, unsigned number, struct ntk_err *err)
{
    struct stat status;
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%u/fd/%u", target->pid, number);
    int place = open(path, O_PATH | O_CLOEXEC);
    int fd = -1;
    bool is_file = place >= 0 && fstat(place, &status) == 0 && S_ISREG(status.st_mode) &&
                   status.st_uid == target->uid && status.st_nlink == 0;

    if (is_file) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", place);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    int code = place < 0 || is_file ? errno : EBADF;
    if (place >= 0) {
        close(place);
    }
    return fd >= 0 ? fd
                   : ntk_err_set(err, -code, NTK_ERR_NO_OFFSET,
                                 "process %u (%s): cannot open its file %u: %s", target->pid,
                                 target->command, number, strerror(code));
}

/* Copies at most *left bytes and subtracts the copied bytes. */
static int file_copy(int from, const char *path, uint64_t *left, struct ntk_err *err)
{
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    char *room = malloc(COPY_BYTES);
    uint64_t at = 0;
    int ret = to < 0 ? -errno : room ? 0 : -ENOMEM;

    while (ret == 0) {
        ssize_t bytes = pread(from, room, COPY_BYTES, (off_t)at);

        if (bytes <= 0) {
            ret = bytes < 0 ? -errno : 0;
            break;
        }
        ret = (uint64_t)bytes > *left ? -EFBIG : ntk_fs_pwrite(to, room, (size_t)bytes, at);
        *left -= ret == 0 ? (uint64_t)bytes : 0;
        at += (uint64_t)bytes;
    }
    free(room);
    if (to >= 0) {
        close(to);
        if (ret < 0) {
            (void)unlink(path);
        }
    }
    return ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot write '%s': %s", path,
                                 strerror(-ret))
                   : 0;
}

int ntk_trigger_files_take(struct ntk_trigger_target *target, uint64_t first, uint64_t bytes_max,
                           const char *folder, struct ntk_err *err)
{
    uint32_t count =
        target->file_count < NTK_TRIGGER_FILES_MAX ? target->file_count : NTK_TRIGGER_FILES_MAX;
    uint64_t left = bytes_max;
    char path[PATH_MAX];
    int ret = 0;

    for (uint32_t i = 0; i < count && ret == 0; i++) {
        int fd = held_open(target, target->files[i] & 0xffffff, err);

        (void)snprintf(path, sizeof path, "%s/pid_%u_nc_%u_exec_%llu.ntff", folder, target->pid,
                       target->files[i] >> 24, (unsigned long long)first);
        ret = fd < 0 ? fd : file_copy(fd, path, &left, err);
        if (fd >= 0) {
            close(fd);
        }
    }
    target->file_bytes = bytes_max - left;
    /* the process closes them; the answer is kept here */
    ntk_trigger_ask(target, NTK_TRIGGER_CANCEL);
    target->is_answered = true;
    return ret;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Returns true if there is nothing left to wait for. */
static bool look(struct ntk_trigger_target *target)
{
    if (target->is_answered) {
        return true;
    }
    if (__atomic_load_n(&target->trigger->answered, __ATOMIC_ACQUIRE) == target->asked) {
        answer_take(target);
    } else if (is_gone(target->pid) ||
               __atomic_load_n(&target->trigger->listening, __ATOMIC_ACQUIRE) == 0) {
        target->is_answered = true;
        target->status =
            ntk_err_set(&target->err, -ESRCH, NTK_ERR_NO_OFFSET,
                        "process %u (%s) exited or closed its runtime during the request",
                        target->pid, target->command);
    }
    return target->is_answered;
}

/* Pauses; an answer shortens the pause, except with a test's clock. */
static void pause_until(const struct ntk_clock *clock, const struct ntk_trigger_target *target,
                        uint64_t until_ns)
{
    const struct timespec pause = { .tv_nsec = LOOK_NS };
    uint32_t answered = __atomic_load_n(&target->trigger->answered, __ATOMIC_ACQUIRE);

    if (answered == target->asked) {
        return;
    }
    if (clock && clock->wait_until) {
        ntk_cond_sleep(clock, until_ns);
    } else {
        (void)syscall(SYS_futex, &target->trigger->answered, FUTEX_WAIT, answered, &pause, NULL, 0);
    }
}

bool ntk_trigger_wait(const struct ntk_clock *clock, struct ntk_trigger_target *targets,
                      size_t count, uint64_t timeout_ns, bool (*continues)(void *ctx), void *ctx)
{
    uint64_t end_ns = ntk_clock_now_ns(clock) + timeout_ns;

    for (;;) {
        struct ntk_trigger_target *waited = NULL;
        bool is_saving = false;

        for (size_t i = 0; i < count; i++) {
            if (!look(&targets[i])) {
                waited = waited ? waited : &targets[i];
                is_saving |= __atomic_load_n(&targets[i].trigger->saving, __ATOMIC_ACQUIRE) != 0;
            }
        }
        if (!waited) {
            return true;
        }
        uint64_t now_ns = ntk_clock_now_ns(clock);
        if (now_ns >= end_ns + (is_saving ? NTK_TRIGGER_SAVE_NS : 0) ||
            (continues && !continues(ctx))) {
            return false;
        }
        pause_until(clock, waited, now_ns + LOOK_NS);
    }
}
