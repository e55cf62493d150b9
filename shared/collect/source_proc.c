/* SPDX-License-Identifier: MIT */
/* source_proc - reads /proc: host CPUs and memory; CPU time, memory, command and user of each
 * runtime. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/process.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"
#include "shared/collect/cgroup.h"
#include "shared/collect/process_exit.h"
#include "shared/collect/source.h"

#define STAT_BYTES (1024u * 1024u) /* enough for /proc/stat with 4,096 CPUs and their interrupts */
#define PATH_BYTES 512
#define PROCESS_FILES_MAX 512 /* maximum number of runtimes' stat files that stay open */

struct source_proc {
    char root[PATH_BYTES];
    int stat;
    int meminfo;
    char *text; /* STAT_BYTES bytes */
    struct ntk_vec cpus;
    size_t process_files;
    bool command_lines;
    bool no_usage;
    bool no_self;
    /* Cache of the last user in this round, because the next process often has the same user. */
    bool has_user;
    uid_t user_id;
    char user[64];
};

/* The aggregate's context of each process. */
struct process_file {
    struct source_proc *source;
    int fd, pidfd; /* the process's stat file; its pidfd, see process_exit.h */
};

/* Reads the file from its start; the text is NUL-ended. */
static ssize_t read_again(int fd, char *text, size_t bytes)
{
    size_t used = 0;

    while (used < bytes - 1) {
        ssize_t got = pread(fd, text + used, bytes - 1 - used, (off_t)used);

        if (got < 0) {
            return -errno;
        }
        if (got == 0) {
            break;
        }
        used += (size_t)got;
    }
    text[used] = '\0';
    return (ssize_t)used;
}

static int open_file(const struct source_proc *source, const char *name)
{
    char path[PATH_BYTES + 64];
    int fd;

    snprintf(path, sizeof path, "%s/%s", source->root, name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

/* ---- the host ---- */

/* Parses "cpu 10 20 ..." or "cpu3 10 20 ...". */
static bool parse_cpu(const char *line, struct ntk_cpu_reading *out)
{
    uint64_t field[8] = { 0 };
    char *end = (char *)line + 3;

    if (*end != ' ') { /* the sum over all CPUs has no number; its next number is user time */
        out->cpu = (uint32_t)strtoul(end, &end, 10);
    }
    for (size_t i = 0; i < 8; i++) {
        char *next;

        field[i] = strtoull(end, &next, 10);
        if (next == end) {
            if (i < 4) {
                return false;
            }
            break; /* an older kernel has fewer fields */
        }
        end = next;
    }
    out->ticks[NTK_CPU_USER] = field[0];
    out->ticks[NTK_CPU_NICE] = field[1];
    out->ticks[NTK_CPU_SYSTEM] = field[2];
    out->ticks[NTK_CPU_IDLE] = field[3];
    out->ticks[NTK_CPU_IO_WAIT] = field[4];
    out->ticks[NTK_CPU_IRQ] = field[5];
    out->ticks[NTK_CPU_SOFT_IRQ] = field[6];
    out->other_ticks = field[7];
    return true;
}

static void read_cpus(struct source_proc *source, struct ntk_system_reading *out)
{
    char *rest = source->text;
    char *line;

    ntk_vec_clear(&source->cpus);
    while ((line = strsep(&rest, "\n")) != NULL) {
        struct ntk_cpu_reading cpu = { 0 };

        if (ntk_str_starts_with(line, "cpu ")) {
            if (parse_cpu(line, &out->average)) {
                out->has |= NTK_SYSTEM_HAS_CPU;
            }
        } else if (ntk_str_starts_with(line, "cpu")) {
            if (source->cpus.count < NTK_AGGREGATE_CPUS_MAX && parse_cpu(line, &cpu)) {
                ntk_vec_push(&source->cpus, &cpu);
            }
        } else if (ntk_str_starts_with(line, "ctxt ")) {
            out->context_switches = strtoull(line + 5, NULL, 10);
            out->has |= NTK_SYSTEM_HAS_CONTEXT_SWITCHES;
        }
    }
    out->cpus = source->cpus.items;
    out->cpu_count = source->cpus.count;
}

static bool memory_line(const char *text, const char *name, uint64_t *out_bytes)
{
    const char *at = strstr(text, name);

    while (at && at != text && at[-1] != '\n') {
        at = strstr(at + 1, name);
    }
    if (!at) {
        return false;
    }
    *out_bytes = strtoull(at + strlen(name), NULL, 10) * 1024;
    return true;
}

static void read_memory(const char *text, struct ntk_system_reading *out)
{
    uint64_t available = 0;
    uint64_t swap_free = 0;

    if (!memory_line(text, "MemTotal:", &out->memory_total_bytes)) {
        return;
    }
    if (!memory_line(text, "MemAvailable:", &available)) {
        memory_line(text, "MemFree:", &available);
    }
    memory_line(text, "SwapTotal:", &out->swap_total_bytes);
    memory_line(text, "SwapFree:", &swap_free);
    out->memory_used_bytes =
        out->memory_total_bytes > available ? out->memory_total_bytes - available : 0;
    out->swap_used_bytes =
        out->swap_total_bytes > swap_free ? out->swap_total_bytes - swap_free : 0;
    out->has |= NTK_SYSTEM_HAS_MEMORY;
}

static ssize_t read_host_file(struct source_proc *source, int *fd, const char *name, char *error,
                              size_t error_bytes)
{
    ssize_t got;

    if (*fd < 0) {
        *fd = open_file(source, name);
    }
    got = *fd < 0 ? *fd : read_again(*fd, source->text, STAT_BYTES);
    if (got < 0) {
        snprintf(error, error_bytes, "open %s/%s: %s", source->root, name, strerror((int)-got));
        if (*fd >= 0) {
            close(*fd);
        }
        *fd = -1;
    }
    return got;
}

static uint64_t ns_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * NTK_NS_PER_SECOND + (uint64_t)time.tv_usec * 1000;
}

/* Reads the usage of this process, regardless of proc_root. */
static void read_self(struct ntk_system_reading *out)
{
    struct rusage usage;
    char text[128];
    unsigned long long pages;

    if (getrusage(RUSAGE_SELF, &usage) == 0 &&
        ntk_fs_read_text("/proc/self/statm", text, sizeof text) > 0 &&
        sscanf(text, "%*u %llu", &pages) == 1) {
        out->self_user_ns = ns_of(usage.ru_utime);
        out->self_system_ns = ns_of(usage.ru_stime);
        out->self_memory_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
        out->has |= NTK_SYSTEM_HAS_SELF;
    }
}

static void sample_host(struct source_proc *source, struct ntk_aggregate *aggregate)
{
    struct ntk_system_reading reading = { 0 };
    char cpu_error[PATH_BYTES + 128] = "";
    char memory_error[PATH_BYTES + 128] = "";

    if (read_host_file(source, &source->meminfo, "meminfo", memory_error, sizeof memory_error) >=
        0) {
        read_memory(source->text, &reading);
    }
    if (read_host_file(source, &source->stat, "stat", cpu_error, sizeof cpu_error) >= 0) {
        read_cpus(source, &reading);
    }
    if (!source->no_self) {
        read_self(&reading);
    }
    reading.cpu_error = cpu_error;
    reading.memory_error = memory_error;
    ntk_aggregate_system(aggregate, &reading);
}

/* ---- processes ---- */

struct process_stat {
    uint64_t user_ticks;
    uint64_t system_ticks;
    uint64_t start_time;
    uint64_t rss_pages;
};

/* Parses "pid (any name) S ...". Fields are counted from the last ')'. */
static bool parse_process_stat(const char *text, struct process_stat *out)
{
    const char *at = strrchr(text, ')');
    uint64_t field[25] = { 0 };

    if (!at || at[1] != ' ' || at[2] == '\0') {
        return false;
    }
    at += 3; /* skip the state, field 3 */
    for (size_t i = 4; i < 25; i++) {
        char *next;

        field[i] = (uint64_t)strtoll(at, &next, 10);
        if (next == at) {
            return false;
        }
        at = next;
    }
    out->user_ticks = field[14];
    out->system_ticks = field[15];
    out->start_time = field[22];
    out->rss_pages = field[24];
    return true;
}

static void close_process(void *context)
{
    struct process_file *file = context;

    close(file->fd);
    if (file->pidfd >= 0) {
        close(file->pidfd);
    }
    file->source->process_files--;
    free(file);
}

/* Opens the file or reads it again; keeps it open with the process if there is room. */
static ssize_t read_process_stat(struct source_proc *source, struct ntk_aggregate_process *process,
                                 char *text, size_t bytes)
{
    struct process_file *file = process->context;
    char name[64];
    ssize_t got;
    int fd;

    if (file) {
        return read_again(file->fd, text, bytes);
    }
    snprintf(name, sizeof name, "%u/stat", process->pid);
    fd = open_file(source, name);
    if (fd < 0) {
        return fd;
    }
    if (source->process_files >= PROCESS_FILES_MAX || !(file = malloc(sizeof *file))) {
        got = read_again(fd, text, bytes);
        close(fd);
        return got;
    }
    /* Open the descriptor before reading stat: if the read succeeds, both belong to the process
     * with this number. */
    *file = (struct process_file){ source, fd, ntk_process_exit_watch(source->root, process->pid) };
    source->process_files++;
    process->context = file;
    return read_again(fd, text, bytes);
}

static ssize_t read_small(const struct source_proc *source, uint32_t pid, const char *name,
                          char *text, size_t bytes)
{
    char path[64];
    int fd;
    ssize_t got;

    snprintf(path, sizeof path, "%u/%s", pid, name);
    fd = open_file(source, path);
    if (fd < 0) {
        return fd;
    }
    got = read_again(fd, text, bytes);
    close(fd);
    return got;
}

/* The user's name, else the number. */
static const char *user_of(struct source_proc *source, uid_t uid)
{
    if (!source->has_user || source->user_id != uid) {
        (void)ntk_process_user((uint32_t)uid, source->user, sizeof source->user);
        source->has_user = true;
        source->user_id = uid;
    }
    return source->user;
}

static void describe(struct source_proc *source, struct ntk_aggregate *aggregate, size_t index,
                     uint32_t pid)
{
    char command[1024];
    char clean[1024] = "";
    char cgroup[4096];
    struct ntk_cgroup_place place;
    const char *container = NULL;
    const char *user = NULL;
    struct stat status;
    char path[PATH_BYTES + 64];
    ssize_t got = source->command_lines
                      ? read_small(source, pid, "cmdline", command, sizeof command)
                      : 0; /* the segment has the program's name */

    if (got > 0) {
        while (got > 0 && command[got - 1] == '\0') {
            got--;
        }
        for (ssize_t i = 0; i < got; i++) {
            command[i] = command[i] == '\0' ? ' ' : command[i];
        }
        ntk_str_copy_clean(clean, sizeof clean, command, (size_t)got);
    }
    ssize_t cgroup_bytes = read_small(source, pid, "cgroup", cgroup, sizeof cgroup);
    if (cgroup_bytes > 0 && ntk_cgroup_parse(cgroup, (size_t)cgroup_bytes, &place) &&
        place.container_id[0]) {
        container = place.container_id;
    }
    snprintf(path, sizeof path, "%s/%u", source->root, pid);
    if (stat(path, &status) == 0) {
        user = user_of(source, status.st_uid);
    }
    ntk_aggregate_process_describe(aggregate, index, clean[0] ? clean : NULL, user, container);
}

static void sample_process(struct source_proc *source, struct ntk_aggregate *aggregate,
                           size_t index, struct ntk_aggregate_process *process)
{
    char text[4096];
    char error[PATH_BYTES + 128];
    struct process_stat stat;

    if (process->ended) {
        if (!process->described) {
            ntk_aggregate_process_describe(aggregate, index, NULL, user_of(source, process->uid),
                                           NULL);
        }
        const struct process_file *file = process->context;
        if (file) {
            ntk_aggregate_process_exited(aggregate, index,
                                         ntk_process_exit_read(file->pidfd, file->fd));
        }
        return;
    }
    if (source->no_usage && process->described) {
        return;
    }
    ssize_t got = read_process_stat(source, process, text, sizeof text);
    if (got < 0 || !parse_process_stat(text, &stat) || stat.start_time != process->start_time) {
        /* Keep the file of an exited process: its last reading shows how the process exited. */
        if (process->context && (got != -ESRCH || !process->described)) {
            close_process(process->context);
            process->context = NULL;
        }
        /* The number belongs to no process or to another one. The wording is the vendor tool's. */
        snprintf(error, sizeof error, "open %s/%u/stat: %s", source->root, process->pid,
                 got == -EACCES ? "permission denied" : "no such file or directory");
        ntk_aggregate_process_no_usage(aggregate, index, error);
        return;
    }
    if (!process->described) {
        describe(source, aggregate, index, process->pid);
    }
    if (!source->no_usage) {
        ntk_aggregate_process_usage(aggregate, index, stat.user_ticks, stat.system_ticks,
                                    stat.rss_pages);
    }
}

static int source_proc_sample(void *state, struct ntk_aggregate *aggregate, uint64_t monotonic_ns,
                              struct ntk_err *err)
{
    struct source_proc *source = state;

    (void)monotonic_ns;
    (void)err;
    source->has_user = false;
    ntk_aggregate_on_process_gone(aggregate, close_process);
    sample_host(source, aggregate);
    for (size_t i = 0; i < ntk_aggregate_process_count(aggregate); i++) {
        struct ntk_aggregate_process *process = ntk_aggregate_process_get(aggregate, i);

        sample_process(source, aggregate, i, process);
    }
    return 0;
}

void ntk_source_proc_read_usage(struct ntk_collect_source *collect_source,
                                struct ntk_aggregate *aggregate, bool wanted)
{
    ((struct source_proc *)collect_source->state)->no_usage = !wanted;
    ntk_aggregate_forget_usage(aggregate);
}

/* Reads new processes between samples: CPU time counts from first sight, and the name is read now
 * because the process may exit soon. */
static int source_proc_drain(void *state, struct ntk_aggregate *aggregate, uint64_t monotonic_ns)
{
    struct source_proc *source = state;

    (void)monotonic_ns;
    source->has_user = false;
    ntk_aggregate_on_process_gone(aggregate, close_process);
    for (size_t i = 0; i < ntk_aggregate_process_count(aggregate); i++) {
        struct ntk_aggregate_process *process = ntk_aggregate_process_get(aggregate, i);

        if (!process->looked_at) {
            process->looked_at = true;
            sample_process(source, aggregate, i, process);
        }
    }
    return 0;
}

static void source_proc_destroy(void *state)
{
    struct source_proc *source = state;

    if (source->stat >= 0) {
        close(source->stat);
    }
    if (source->meminfo >= 0) {
        close(source->meminfo);
    }
    ntk_vec_fini(&source->cpus);
    free(source->text);
    free(source);
}

static const struct ntk_collect_source_ops ops = {
    .name = "proc",
    .drain = source_proc_drain,
    .sample = source_proc_sample,
    .destroy = source_proc_destroy,
};

int ntk_source_proc_open(const struct ntk_collector_options *options,
                         struct ntk_collect_source *out_source, struct ntk_err *err)
{
    struct source_proc *source = calloc(1, sizeof *source);

    if (!source || !(source->text = malloc(STAT_BYTES))) {
        free(source);
        return ntk_err_no_memory(err);
    }
    source->command_lines = options->command_lines;
    source->no_usage = options->no_usage;
    source->no_self = options->no_self;
    source->stat = -1;
    source->meminfo = -1;
    ntk_str_copy(source->root, sizeof source->root, options->proc_root);
    ntk_vec_init(&source->cpus, sizeof(struct ntk_cpu_reading));
    *out_source = (struct ntk_collect_source){ .ops = &ops, .state = source };
    return 0;
}
