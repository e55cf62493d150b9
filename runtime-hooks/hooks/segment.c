/* SPDX-License-Identifier: MIT */
/*
 * segment - the file of the observed process: created at attach, ended at detach.
 */
#include "runtime-hooks/hooks/hooks_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "shared/abi/process_stat.h"
#include "shared/abi/raw_clock.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE_BYTES 4096u
#define CALIBRATION_NS 5000000u
#define BRACKET_TRIES 32
#define NAME_ATTEMPTS 100u
#define FOLDER_ATTEMPTS 3u
#define SWEEP_ENTRIES 10000u /* maximum number of files checked when a process starts */
#define SWEEP_AGE_S 60
#define SWEEP_UNREADY_AGE_S 2 /* age for removal if the file has no magic number, lock or process */
/* Age for removal if the writer's process is not visible from here. */
#define SWEEP_FOREIGN_AGE_S 3600
#define LEFT_FILES_MAX 128u /* maximum segments in a folder that are left for a reader */
#define LEFT_SPACE_TIMES 8u /* a segment is left only if this multiple of its size stays free */
#define RINGS_BYTES_MAX (2ull << 30)

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static int note_set(char *note, size_t note_bytes, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static int note_set(char *note, size_t note_bytes, int code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(note, note_bytes, format, arguments);
    va_end(arguments);
    return code;
}

/* Reads a whole small file; returns the number of bytes, 0 on failure. */
static size_t read_text(const char *path, char *buf, size_t buf_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes;

    buf[0] = '\0';
    if (fd < 0) {
        return 0;
    }
    bytes = read(fd, buf, buf_bytes - 1);
    close(fd);
    if (bytes < 0) {
        bytes = 0;
    }
    buf[bytes] = '\0';
    return (size_t)bytes;
}

/* The start time of the process in a /proc stat file, see process_stat.h; 0 if there is none, or it
 * has exited. */
static uint64_t process_start_time(const char *stat_path)
{
    char text[NTK_STAT_BYTES];

    return read_text(stat_path, text, sizeof text) > 0 ? ntk_process_stat_start_time(text) : 0;
}

static uint64_t own_pid_namespace(void)
{
    struct stat status;

    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

static int lock_test(int fd, off_t byte)
{
    struct flock lock;

    memset(&lock, 0, sizeof lock);
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* The value of NEURON_HOOKS_MEMORY: bytes, or with suffix K, M or G. */
static uint64_t rings_bytes_wanted(char *note, size_t note_bytes)
{
    const char *text = getenv("NEURON_HOOKS_MEMORY");
    unsigned long long value;
    unsigned int shift = 0;
    char *end = NULL;

    if (text == NULL || text[0] == '\0') {
        return NTK_RINGS_BYTES_DEFAULT;
    }
    errno = 0;
    value = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    if (end != NULL && (*end == 'K' || *end == 'k')) {
        shift = 10;
    } else if (end != NULL && (*end == 'M' || *end == 'm')) {
        shift = 20;
    } else if (end != NULL && (*end == 'G' || *end == 'g')) {
        shift = 30;
    }
    if (end == NULL || end[shift != 0] != '\0' || errno != 0) {
        note_set(note, note_bytes, 0,
                 "NEURON_HOOKS_MEMORY=%.40s: expected a size (bytes, or K, M, G); using 32M", text);
        return NTK_RINGS_BYTES_DEFAULT;
    }
    if (value > RINGS_BYTES_MAX >> shift) {
        return RINGS_BYTES_MAX;
    }
    return (value << shift) / NTK_SLOT_BYTES * NTK_SLOT_BYTES;
}

/* Returns true if the writer was killed before its file was ready. A writer locks its file right
 * after creating it: without lock and magic number it was killed, or is between the two steps. */
static int never_became_ready(int fd)
{
    uint64_t magic = 0;

    return pread(fd, &magic, sizeof magic, 0) != (ssize_t)sizeof magic || magic == 0;
}

static int process_runs(unsigned int pid, unsigned long long start_time)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    return process_start_time(path) == start_time;
}

/* Returns true if the process that wrote this segment may still be alive although no process holds
 * byte 0. */
static int writer_may_live(int fd, time_t age_s)
{
    struct ntk_segment_header header;
    struct ntk_segment_process process;

    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        header.magic != NTK_SEGMENT_MAGIC ||
        pread(fd, &process, sizeof process, (off_t)header.section[NTK_SECTION_PROCESS].offset) !=
            (ssize_t)sizeof process) {
        return 0; /* the file was never ready */
    }
    if (process.ended != 0 || (process.flags & NTK_PROCESS_ATTACHED) != 0) {
        return 0; /* an attached program prevents its files from being closed */
    }
    if (process.pid_namespace != own_pid_namespace()) {
        return age_s < SWEEP_FOREIGN_AGE_S;
    }
    return process_runs(process.pid, process.start_time);
}

/* Returns true if only this user and root can create files in the folder. */
static int is_private(int folder)
{
    struct stat status;

    return fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Returns true if a process that removes dead segments reads this folder, or may restart soon: see
 * NTK_READER_MARK_NAME. */
static int is_marked(int folder)
{
    int fd = openat(folder, NTK_READER_MARK_NAME,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat status;
    int is_marked;

    if (fd < 0) {
        return 0;
    }
    is_marked = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                (status.st_uid == geteuid() || is_private(folder) ||
                 ntk_paths_is_trusted_user(status.st_uid)) &&
                (lock_test(fd, 0) ||
                 (status.st_size > 0 && time(NULL) - status.st_mtime < NTK_READER_MARK_KEEPS_S));
    close(fd);
    return is_marked;
}

/* Removes segments of this user's dead processes, unless a reader waits for them. */
static void sweep(int folder, unsigned int own_pid, unsigned long long own_start_time)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    time_t keep_s = is_marked(folder) ? NTK_READER_MARK_KEEPS_S : SWEEP_AGE_S;
    unsigned int entries = 0;
    unsigned int kept = 0;
    struct dirent *entry;

    if (list == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        return;
    }
    while (entries++ < SWEEP_ENTRIES && (entry = readdir(list)) != NULL) {
        unsigned long long start_time;
        unsigned int pid;
        struct stat status;
        time_t age_s;
        int is_kept;
        int fd;

        if (!ntk_paths_parse_segment_name(entry->d_name, &pid, &start_time) ||
            (pid == own_pid && start_time == own_start_time) ||
            fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
            continue;
        }
        age_s = time(NULL) - status.st_mtime;
        is_kept = age_s < SWEEP_AGE_S || (age_s < keep_s && kept++ < LEFT_FILES_MAX);
        if (is_kept && (age_s < SWEEP_UNREADY_AGE_S || process_runs(pid, start_time))) {
            continue;
        }
        fd = openat(folder, entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0) {
            continue;
        }
        if (!lock_test(fd, 0) && !lock_test(fd, 1) &&
            (is_kept ? never_became_ready(fd) : !writer_may_live(fd, age_s))) {
            (void)unlinkat(folder, entry->d_name, 0);
        }
        close(fd);
    }
    closedir(list);
}

/* Opens the folder for segments, and creates it if missing; returns the descriptor or -errno. */
static int open_folder_once(char *path, size_t path_bytes, char *note, size_t note_bytes)
{
    int is_own = ntk_paths_hooks_dir_variable() == NULL;
    int fd;

    if (ntk_paths_writer_hooks_dir(path, path_bytes) < 0) {
        return note_set(note, note_bytes, -ENAMETOOLONG,
                        "the path of the hooks folder is too long");
    }
    if (is_own && strcmp(path, NTK_HOOKS_SHARED_DIR) == 0) {
        is_own = 0;
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        int code = -errno;

        return note_set(note, note_bytes, code, "cannot create '%.300s': %s", path,
                        strerror(-code));
    }
    /* Follow symbolic links only in a name given by the user. */
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
                        (ntk_paths_hooks_dir_variable() == NULL ? O_NOFOLLOW : 0));
    if (fd >= 0 && path[0] != '/') {
        /* Use an absolute path, because the program may change its working folder before the file
         * is removed. */
        char *absolute = realpath(path, NULL);
        int length = absolute != NULL ? snprintf(path, path_bytes, "%s", absolute) : -1;

        free(absolute);
        if (ntk_paths_checked(length, path, path_bytes) < 0) {
            close(fd);
            return note_set(note, note_bytes, -ENAMETOOLONG,
                            "the hooks folder has no usable absolute path");
        }
    }
    if (fd < 0) {
        int code = -errno;

        return note_set(note, note_bytes, code, "cannot open '%.300s': %s", path, strerror(-code));
    }
    if (is_own && !is_private(fd)) {
        close(fd);
        return note_set(note, note_bytes, -EPERM,
                        "%.300s belongs to another user or is writable by others", path);
    }
    return fd;
}

/* Same, and retries: the user's folder gets another name if another process took the usual one
 * first, even in the meantime. */
static int open_folder(char *path, size_t path_bytes, char *note, size_t note_bytes)
{
    char usual[NTK_PATH_BYTES];
    char before[512]; /* earlier message */
    unsigned int attempt = 0;
    int fd;

    (void)snprintf(before, sizeof before, "%s", note);
    do {
        fd = open_folder_once(path, path_bytes, note, note_bytes);
    } while (fd < 0 && ++attempt < FOLDER_ATTEMPTS);
    if (fd >= 0) { /* failed attempts are not reported */
        (void)snprintf(note, note_bytes, "%s", before);
    }
    (void)snprintf(usual, sizeof usual, NTK_HOOKS_PARENT "/" NTK_HOOKS_USER_PREFIX "%u",
                   (unsigned int)geteuid());
    if (fd >= 0 && ntk_paths_hooks_dir_variable() == NULL &&
        strncmp(path, usual, strlen(usual)) == 0 && path[strlen(usual)] == '.') {
        note_set(note, note_bytes, 0, "%s belongs to another user; using %.300s", usual, path);
    }
    return fd;
}

/* Returns true if a process writes this file, or is about to: a file exists before it is locked,
 * and gets its magic number after that. */
static int has_writer(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    int has_writer;

    if (fd < 0) {
        return 0;
    }
    has_writer =
        lock_test(fd, 0) || (fstat(fd, &status) == 0 &&
                             time(NULL) - status.st_mtime < SWEEP_AGE_S && never_became_ready(fd));
    close(fd);
    return has_writer;
}

/* Creates a file with a unique name and opens it with a high descriptor, because programs close low
 * ones. */
static int create_file(int folder, const char *folder_path, unsigned int pid,
                       unsigned long long start_time, const struct ntk_hooks_behalf *behalf,
                       char *note, size_t note_bytes)
{
    mode_t mode = strcmp(folder_path, NTK_HOOKS_SHARED_DIR) == 0 ? 0640 : 0600;
    struct flock lock;
    unsigned int attempt;
    int code = -EEXIST;

    for (attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
        char name[64];
        int high;
        int fd;

        if (ntk_paths_segment_name(pid, start_time, attempt, name, sizeof name) < 0) {
            return -ENAMETOOLONG;
        }
        fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd < 0) {
            code = -errno;
            if (code == -EEXIST && behalf != NULL && has_writer(folder, name)) {
                return note_set(note, note_bytes, -EBUSY, "%.300s/%s already has a writer",
                                folder_path, name);
            }
            if (code == -EEXIST) {
                continue;
            }
            break;
        }
        high = fcntl(fd, F_DUPFD_CLOEXEC, 512);
        if (high >= 0) {
            close(fd);
            fd = high;
        }
        memset(&lock, 0, sizeof lock);
        lock.l_type = F_WRLCK;
        lock.l_whence = SEEK_SET;
        lock.l_len = 1;
        if (fchmod(fd, mode) != 0 || fcntl(fd, F_SETLK, &lock) != 0 ||
            (behalf != NULL && mode == 0640 && fchown(fd, behalf->uid, (gid_t)-1) != 0) ||
            ntk_paths_checked(
                snprintf(hooks.segment.path, sizeof hooks.segment.path, "%s/%s", folder_path, name),
                hooks.segment.path, sizeof hooks.segment.path) < 0) {
            code = errno != 0 ? -errno : -ENAMETOOLONG;
            (void)unlinkat(folder, name, 0);
            close(fd);
            break;
        }
        return fd;
    }
    return note_set(note, note_bytes, code, "cannot create a segment in '%.300s': %s", folder_path,
                    strerror(-code));
}

static void set_text(char *field, size_t field_bytes, const char *text)
{
    if (text != NULL) {
        size_t bytes = strnlen(text, field_bytes);

        memcpy(field, text, bytes);
    }
}

/* Determines the frequency from two brackets a few milliseconds apart; the second one is the triple
 * in the header. */
static struct ntk_segment_clock calibrate(uint32_t kind)
{
    uint64_t known = ntk_raw_clock_counter_frequency();
    struct ntk_segment_clock first = ntk_raw_clock_bracket(kind, BRACKET_TRIES);
    struct ntk_segment_clock last;
    struct timespec pause = { 0, CALIBRATION_NS };

    if (kind == NTK_CLOCK_MONOTONIC) {
        first.ticks_per_second = 1000000000u;
        return first;
    }
    if (known != 0) {
        first.ticks_per_second = known;
        return first;
    }
    (void)nanosleep(&pause, NULL);
    do {
        last = ntk_raw_clock_bracket(kind, BRACKET_TRIES);
    } while (last.monotonic_ns - first.monotonic_ns < CALIBRATION_NS / 2);
    last.ticks_per_second = (uint64_t)((double)(last.raw_ticks - first.raw_ticks) * 1e9 /
                                       (double)(last.monotonic_ns - first.monotonic_ns));
    return last;
}

struct layout {
    uint64_t offset[NTK_SECTION_COUNT];
    uint64_t base_bytes; /* size of header and tables, which are reserved at attach */
    uint64_t segment_bytes;
};

static const struct {
    uint32_t entry_bytes;
    uint32_t count;
} section_shape[NTK_SECTION_COUNT] = {
    [NTK_SECTION_PROCESS] = { sizeof(struct ntk_segment_process), 1 },
    [NTK_SECTION_CORES] = { sizeof(struct ntk_segment_core), NTK_SEGMENT_CORES },
    [NTK_SECTION_MODELS] = { sizeof(struct ntk_segment_model), NTK_SEGMENT_MODELS },
    [NTK_SECTION_MEMORY] = { sizeof(struct ntk_segment_memory_row), NTK_SEGMENT_MEMORY_ROWS },
    [NTK_SECTION_NAMES] = { sizeof(struct ntk_segment_name), NTK_SEGMENT_NAMES },
    [NTK_SECTION_NAME_BYTES] = { 1, NTK_SEGMENT_NAME_BYTES },
    [NTK_SECTION_THREADS] = { sizeof(struct ntk_segment_thread), NTK_SEGMENT_THREADS },
    [NTK_SECTION_RINGS] = { sizeof(struct ntk_segment_ring), NTK_SEGMENT_RINGS },
    [NTK_SECTION_SLOTS] = { NTK_SLOT_BYTES, 0 /* by NEURON_HOOKS_MEMORY */ },
    [NTK_SECTION_HISTOGRAMS] = { sizeof(struct ntk_histogram_pair), NTK_SEGMENT_HISTOGRAM_PAIRS },
    [NTK_SECTION_COMMS] = { sizeof(struct ntk_segment_comm), NTK_SEGMENT_COMMS },
    [NTK_SECTION_TRIGGER] = { sizeof(struct ntk_segment_trigger), 1 },
};

static struct layout lay_out(uint64_t rings_bytes)
{
    uint64_t at = round_up(sizeof(struct ntk_segment_header), PAGE_BYTES);
    struct layout layout;
    unsigned int i;

    for (i = 0; i < NTK_SECTION_COUNT; i++) {
        if (i == NTK_SECTION_SLOTS || i == NTK_SECTION_HISTOGRAMS) {
            continue; /* this section is not in the part that is reserved at the start */
        }
        layout.offset[i] = at;
        at = round_up(at + (uint64_t)section_shape[i].entry_bytes * section_shape[i].count,
                      NTK_SLOT_BYTES);
    }
    at = round_up(at, PAGE_BYTES);
    layout.base_bytes = at;
    layout.offset[NTK_SECTION_HISTOGRAMS] = at;
    at = round_up(at + (uint64_t)sizeof(struct ntk_histogram_pair) * NTK_SEGMENT_HISTOGRAM_PAIRS,
                  PAGE_BYTES);
    layout.offset[NTK_SECTION_SLOTS] = at;
    layout.segment_bytes = at + rings_bytes;
    return layout;
}

int hooks_segment_reserve(uint64_t offset, uint64_t bytes)
{
    uint64_t first = offset / PAGE_BYTES * PAGE_BYTES;
    uint64_t end = round_up(offset + bytes, PAGE_BYTES);
    int code;

    if (end > hooks.segment.bytes) {
        end = round_up(hooks.segment.bytes, PAGE_BYTES);
        bytes = hooks.segment.bytes - offset;
    }
    do {
        code = posix_fallocate(hooks.segment.fd, (off_t)offset, (off_t)bytes);
    } while (code == EINTR);
    if (code != 0) {
        return -code;
    }
    if (madvise(hooks.segment.base + first, end - first, MADV_POPULATE_WRITE) != 0) {
        uint64_t page;

        /* For an older kernel: faults the pages in by reading; the first write to each then costs
         * another fault. */
        for (page = first; page < end; page += PAGE_BYTES) {
            (void)*(volatile const uint8_t *)(hooks.segment.base + page);
        }
    }
    return 0;
}

static void fill_process(const struct ntk_hooks_config *config, uint32_t mode, unsigned int pid,
                         uint64_t start_time)
{
    struct ntk_segment_process *process = hooks.segment.process;
    char command[NTK_VERSION_TEXT_BYTES];
    size_t bytes = read_text("/proc/self/comm", command, sizeof command);
    const char *tag = config->behalf != NULL ? config->behalf->tag : getenv("NEURON_PROCESS_TAG");
    struct stat status;

    if (bytes > 0 && command[bytes - 1] == '\n') {
        command[bytes - 1] = '\0';
    }
    process->pid = pid;
    process->uid = fstat(hooks.segment.fd, &status) == 0 ? (uint32_t)status.st_uid : geteuid();
    process->start_time = start_time;
    process->pid_namespace = own_pid_namespace();
    process->mode = mode;
    process->clock =
        calibrate(config->behalf != NULL ? (uint32_t)NTK_CLOCK_MONOTONIC : ntk_raw_clock_kind());
    process->lnc = config->lnc == 2 ? 2 : 1;
    process->device_count = config->device_count;
    process->cores_per_device = config->cores_per_device;
    process->framework_type = config->framework_type;
    process->flags = config->process_flags;
    set_text(process->tag, sizeof process->tag, tag);
    set_text(process->framework_version, sizeof process->framework_version,
             config->framework_version);
    set_text(process->fal_version, sizeof process->fal_version, config->fal_version);
    set_text(process->runtime_version, sizeof process->runtime_version, config->runtime_version);
    set_text(process->instance_type, sizeof process->instance_type, config->instance_type);
    set_text(process->command, sizeof process->command,
             config->behalf != NULL ? config->behalf->command : command);
}

static void fill_header(const struct layout *layout, uint64_t rings_bytes)
{
    struct ntk_segment_header *header = hooks.segment.header;
    unsigned int i;

    header->abi_version = NTK_SEGMENT_ABI_VERSION;
    header->header_bytes = sizeof *header;
    header->slot_bytes = NTK_SLOT_BYTES;
    header->section_count = NTK_SECTION_COUNT;
    header->segment_bytes = layout->segment_bytes;
    for (i = 0; i < NTK_SECTION_COUNT; i++) {
        header->section[i].offset = layout->offset[i];
        header->section[i].entry_bytes = section_shape[i].entry_bytes;
        header->section[i].count = section_shape[i].count;
    }
    header->section[NTK_SECTION_SLOTS].count = (uint32_t)(rings_bytes / NTK_SLOT_BYTES);
}

/* Locates the sections in the mapping. */
static void locate(const struct layout *layout)
{
    struct hooks_segment *segment = &hooks.segment;
    uint8_t *base = segment->base;

    segment->header = (void *)base;
    segment->process = (void *)(base + layout->offset[NTK_SECTION_PROCESS]);
    segment->cores = (void *)(base + layout->offset[NTK_SECTION_CORES]);
    segment->models = (void *)(base + layout->offset[NTK_SECTION_MODELS]);
    segment->rows = (void *)(base + layout->offset[NTK_SECTION_MEMORY]);
    segment->names = (void *)(base + layout->offset[NTK_SECTION_NAMES]);
    segment->name_bytes = (void *)(base + layout->offset[NTK_SECTION_NAME_BYTES]);
    segment->threads = (void *)(base + layout->offset[NTK_SECTION_THREADS]);
    segment->rings = (void *)(base + layout->offset[NTK_SECTION_RINGS]);
    segment->histograms = (void *)(base + layout->offset[NTK_SECTION_HISTOGRAMS]);
    segment->comms = (void *)(base + layout->offset[NTK_SECTION_COMMS]);
    segment->trigger = (void *)(base + layout->offset[NTK_SECTION_TRIGGER]);
    segment->slots_offset = layout->offset[NTK_SECTION_SLOTS];
}

/* Unmaps an earlier segment of this process, which stayed mapped as private memory until now. */
static void unmap_earlier(void)
{
    if (hooks.segment.base != NULL) {
        munmap(hooks.segment.base, hooks.segment.bytes);
        hooks.segment.base = NULL;
    }
}

int hooks_segment_create(const struct ntk_hooks_config *config, uint32_t mode, char *note,
                         size_t note_bytes)
{
    uint64_t rings_bytes = mode >= 2 ? rings_bytes_wanted(note, note_bytes) : 0;
    const struct ntk_hooks_behalf *behalf = config->behalf;
    uint64_t start_time =
        behalf != NULL ? behalf->start_time : process_start_time("/proc/self/stat");
    unsigned int pid = behalf != NULL ? behalf->pid : (unsigned int)getpid();
    char folder_path[NTK_PATH_BYTES];
    struct layout layout;
    struct rlimit limit;
    void *mapping;
    int folder;
    int ret;

    unmap_earlier();
    layout = lay_out(0);
    /* Check the limit, because beyond it the kernel sends SIGXFSZ, which terminates the job. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        if (limit.rlim_cur < layout.segment_bytes) {
            return note_set(note, note_bytes, -EFBIG,
                            "the file size limit (%llu bytes) is too small for a segment",
                            (unsigned long long)limit.rlim_cur);
        }
        if (rings_bytes > limit.rlim_cur - layout.segment_bytes) {
            rings_bytes = (limit.rlim_cur - layout.segment_bytes) / PAGE_BYTES * PAGE_BYTES;
            note_set(note, note_bytes, 0, "the file size limit leaves only %llu bytes for events",
                     (unsigned long long)rings_bytes);
        }
    }
    layout = lay_out(rings_bytes);

    folder = open_folder(folder_path, sizeof folder_path, note, note_bytes);
    if (folder < 0) {
        return folder;
    }
    sweep(folder, pid, start_time);
    hooks.segment.fd = create_file(folder, folder_path, pid, start_time, behalf, note, note_bytes);
    close(folder);
    if (hooks.segment.fd < 0) {
        return hooks.segment.fd;
    }

    if (ftruncate(hooks.segment.fd, (off_t)layout.segment_bytes) != 0) {
        ret = note_set(note, note_bytes, -errno, "cannot size '%.300s': %s", hooks.segment.path,
                       strerror(errno));
        goto out;
    }
    mapping =
        mmap(NULL, layout.segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, hooks.segment.fd, 0);
    if (mapping == MAP_FAILED) {
        ret = note_set(note, note_bytes, -errno, "cannot map '%.300s': %s", hooks.segment.path,
                       strerror(errno));
        goto out;
    }
    hooks.segment.base = mapping;
    hooks.segment.bytes = layout.segment_bytes;
    hooks.segment.slots_bytes = rings_bytes;
    ret = hooks_segment_reserve(0, layout.base_bytes);
    if (ret < 0) {
        note_set(note, note_bytes, 0, "not enough space for %llu bytes of counters in %.300s: %s",
                 (unsigned long long)layout.base_bytes, folder_path, strerror(-ret));
        unmap_earlier();
        goto out;
    }
    locate(&layout);
    fill_process(config, mode, pid, start_time);
    fill_header(&layout, rings_bytes);
    /* Pairs with the acquire load in ring_segment.c: a file with its magic number is complete. */
    ntk_abi_store_release(&hooks.segment.header->magic, NTK_SEGMENT_MAGIC);
    return 0;

out:
    (void)unlink(hooks.segment.path);
    close(hooks.segment.fd);
    hooks.segment.fd = -1;
    hooks.segment.path[0] = '\0';
    return ret;
}

/* Replaces the pages of the segment by private zeros in the same place, so that late writes do no
 * harm. */
static void make_private(void)
{
    (void)mmap(hooks.segment.base, hooks.segment.bytes, PROT_READ | PROT_WRITE,
               MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* Returns true if the folder has room: a reader that hangs must not fill it, because others need
 * it. */
static int folder_has_room(int folder)
{
    DIR *list = fdopendir(folder); /* takes ownership of the descriptor */
    struct statvfs space;
    /* only files of this user, because those of others must not use up the limit */
    struct stat left;
    struct stat own;
    struct dirent *entry;
    unsigned int entries = 0;
    unsigned int files = 0;

    if (list == NULL) {
        close(folder);
        return 0;
    }
    while (files < LEFT_FILES_MAX && entries++ < SWEEP_ENTRIES && (entry = readdir(list)) != NULL) {
        unsigned long long start_time;
        unsigned int pid;

        files += ntk_paths_parse_segment_name(entry->d_name, &pid, &start_time) &&
                 fstatat(folder, entry->d_name, &left, AT_SYMLINK_NOFOLLOW) == 0 &&
                 left.st_uid == geteuid();
    }
    if (fstat(hooks.segment.fd, &own) != 0 || fstatvfs(dirfd(list), &space) != 0 ||
        (uint64_t)space.f_bavail * space.f_frsize / LEFT_SPACE_TIMES <
            (uint64_t)own.st_blocks * 512) {
        files = LEFT_FILES_MAX;
    }
    closedir(list);
    return files < LEFT_FILES_MAX;
}

/* Returns true if a process that removes dead segments reads this folder, even if it has not seen
 * our file yet. */
static int folder_has_reader(void)
{
    const char *slash = strrchr(hooks.segment.path, '/');
    char path[NTK_PATH_BYTES];
    int folder;

    if (slash == NULL ||
        ntk_paths_checked(snprintf(path, sizeof path, "%.*s", (int)(slash - hooks.segment.path),
                                   hooks.segment.path),
                          path, sizeof path) < 0) {
        return 0;
    }
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return 0;
    }
    if (is_marked(folder)) {
        return folder_has_room(folder);
    }
    close(folder);
    return 0;
}

void hooks_segment_end(void)
{
    /* Pairs with the acquire load in ring_segment.c: readers that see it also see the last
     * counters. */
    ntk_abi_store_release(&hooks.segment.process->ended, 1);
    if (!lock_test(hooks.segment.fd, 1) && !folder_has_reader()) {
        (void)unlink(hooks.segment.path);
    }
    make_private();
    close(hooks.segment.fd); /* this releases the lock on byte 0 */
    hooks.segment.fd = -1;
    hooks.segment.path[0] = '\0';
}

void hooks_segment_forget(void)
{
    make_private();
    close(hooks.segment.fd); /* the lock belongs to the parent and stays */
    hooks.segment.fd = -1;
    hooks.segment.path[0] = '\0';
}
