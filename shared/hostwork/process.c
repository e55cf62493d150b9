/* SPDX-License-Identifier: MIT */
#include "shared/hostwork/process.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/base/hash.h"
#include "shared/base/str.h"

#define FIRST_PID_NAMESPACE 0xEFFFFFFCu /* PROC_PID_INIT_INO */
#define STATUS_BYTES 4096
#define KNOWN_MAX 65536u
#define DESCRIPTOR_MAX (1u << 20)

/* Calls fn for each number in a folder of /proc. */
static void each_number(const char *path, void (*fn)(uint32_t number, void *ctx), void *ctx)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    uint64_t number;

    for (size_t i = 0; folder && i < KNOWN_MAX && (entry = readdir(folder)) != NULL; i++) {
        if (ntk_str_parse_u64(entry->d_name, &number) == 0 && number <= INT_MAX) {
            fn((uint32_t)number, ctx);
        }
    }
    if (folder) {
        closedir(folder);
    }
}

/* ---- processes ---- */

struct parents {
    uint32_t (*pairs)[2]; /* pairs of pid and parent */
    size_t count;
};

static void add_parent(uint32_t pid, void *ctx)
{
    struct parents *parents = ctx;
    char path[64];
    char text[512];
    unsigned parent;

    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    if (ntk_fs_read_text(path, text, sizeof text) <= 0 || parents->count >= KNOWN_MAX) {
        return;
    }
    const char *after_name = strrchr(text, ')');
    if (after_name && sscanf(after_name, ") %*c %u", &parent) == 1) {
        parents->pairs[parents->count][0] = pid;
        parents->pairs[parents->count++][1] = parent;
    }
}

static bool has_pid(const uint32_t *pids, size_t count, uint32_t pid)
{
    for (size_t i = 0; i < count; i++) {
        if (pids[i] == pid) {
            return true;
        }
    }
    return false;
}

size_t ntk_host_process_tree(uint32_t pid, uint32_t *out_pids, size_t out_count)
{
    struct parents parents = { calloc(KNOWN_MAX, sizeof *parents.pairs), 0 };
    size_t count = 0;

    if (out_count == 0) {
        free(parents.pairs);
        return 0;
    }
    out_pids[count++] = pid;
    if (!parents.pairs) {
        return count;
    }
    each_number("/proc", add_parent, &parents);
    for (size_t at = 0; at < count; at++) {
        for (size_t i = 0; i < parents.count && count < out_count; i++) {
            if (parents.pairs[i][1] == out_pids[at] &&
                !has_pid(out_pids, count, parents.pairs[i][0])) {
                out_pids[count++] = parents.pairs[i][0];
            }
        }
    }
    free(parents.pairs);
    return count;
}

bool ntk_host_process_may_trace(uint32_t pid)
{
    char path[64];

    /* When this file is opened, the kernel checks the right to attach, including Yama and
     * namespaces. */
    (void)snprintf(path, sizeof path, "/proc/%u/mem", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    close(fd);
    return true;
}

uint64_t ntk_host_process_image(uint32_t pid)
{
    char path[64];
    char text[1024];
    uint64_t started;
    uint64_t code;
    uint64_t stack;

    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    const char *after_name =
        ntk_fs_read_text(path, text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
    /* Fields 22, 26 and 28: the start time, and the addresses of the code and the stack, which
     * are random for each program that the process executes. */
    if (!after_name ||
        sscanf(after_name,
               ") %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
               "%" SCNu64 " %*s %*s %*s %" SCNu64 " %*s %" SCNu64,
               &started, &code, &stack) != 3 ||
        stack <= 1) { /* the kernel reports 0 or 1 instead of an address */
        return 0;
    }
    return ntk_hash_number(ntk_hash_number(ntk_hash_number(started) ^ code) ^ stack);
}

bool ntk_host_process_is_first_namespace(void)
{
    struct stat status;

    return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == FIRST_PID_NAMESPACE;
}

/* ---- threads ---- */

void ntk_host_process_thread(struct ntk_host_records *records, uint32_t pid, uint32_t tid,
                             const char *name, uint64_t first_ns, uint64_t now_ns)
{
    struct ntk_host_thread *thread = ntk_host_records_thread(records, tid);

    if (!thread) {
        thread = ntk_host_records_thread_add(records, pid, tid);
        if (!thread) {
            return;
        }
        thread->first_ns = first_ns;
    }
    if (name) {
        ntk_str_copy_clean(thread->name, sizeof thread->name, name,
                           strnlen(name, NTK_HOST_COMM_BYTES));
    }
    thread->last_ns = now_ns > thread->last_ns ? now_ns : thread->last_ns;
}

struct listing {
    uint32_t pid;
    uint64_t first_ns, now_ns;
    struct ntk_host_records *records;
};

static void add_thread(uint32_t tid, void *ctx)
{
    const struct listing *listing = ctx;
    char path[64];
    char name[64];

    (void)snprintf(path, sizeof path, "/proc/%u/task/%u/comm", listing->pid, tid);
    if (ntk_fs_read_text(path, name, sizeof name) < 0) {
        return;
    }
    ntk_host_process_thread(listing->records, listing->pid, tid, name, listing->first_ns,
                            listing->now_ns);
}

void ntk_host_process_threads(uint32_t pid, uint64_t first_ns, uint64_t now_ns,
                              struct ntk_host_records *records)
{
    struct listing listing = { pid, first_ns, now_ns, records };
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%u/task", pid);
    each_number(path, add_thread, &listing);
}

uint32_t ntk_host_process_inner_tid(uint32_t pid, uint32_t tid)
{
    char path[64];
    char text[STATUS_BYTES];

    (void)snprintf(path, sizeof path, "/proc/%u/task/%u/status", pid, tid);
    const char *line =
        ntk_fs_read_text(path, text, sizeof text) > 0 ? strstr(text, "\nNSpid:") : NULL;
    if (!line) {
        return 0;
    }
    /* The line is "NSpid: 4711 12"; the last number belongs to the innermost namespace. */
    const char *last = line + 1 + strcspn(line + 1, "\n");
    while (isdigit((unsigned char)last[-1])) {
        last--;
    }
    uint64_t number = strtoull(last, NULL, 10);
    return number <= UINT32_MAX ? (uint32_t)number : 0;
}

bool ntk_host_process_syscall(uint32_t pid, uint32_t tid, int32_t *out_number,
                              uint64_t out_argument[3])
{
    uint64_t argument[3];
    int32_t number;
    char path[96];
    char text[512];

    *out_number = -1;
    (void)snprintf(path, sizeof path, "/proc/%u/task/%u/syscall", pid, tid);
    if (ntk_fs_read_text(path, text, sizeof text) <= 0) {
        return false;
    }
    /* The text is "running", or the call's number, its arguments, stack pointer and program
     * counter. */
    if (text[0] == 'r') {
        return true;
    }
    if (sscanf(text, "%" SCNd32 " %" SCNx64 " %" SCNx64 " %" SCNx64, &number, &argument[0],
               &argument[1], &argument[2]) < 4 ||
        number < 0) {
        return false;
    }
    *out_number = number;
    memcpy(out_argument, argument, sizeof argument);
    return true;
}

const char *ntk_host_process_file(uint32_t pid, uint64_t descriptor, struct ntk_host_stacks *stacks)
{
    char path[64];
    char target[PATH_MAX];

    if (descriptor > DESCRIPTOR_MAX) {
        return NULL;
    }
    (void)snprintf(path, sizeof path, "/proc/%u/fd/%u", pid, (unsigned)descriptor);
    ssize_t bytes = readlink(path, target, sizeof target - 1);
    if (bytes <= 0) {
        return NULL;
    }
    target[bytes] = '\0';
    /* In "socket:[4711]", the number differs for each connection, so omit it. */
    char *number = ntk_str_starts_with(target, "socket:[") || ntk_str_starts_with(target, "pipe:[")
                       ? strchr(target, ':')
                       : NULL;
    if (number) {
        *number = '\0';
    }
    return ntk_host_stacks_text(stacks, target);
}
