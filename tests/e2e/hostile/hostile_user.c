/* SPDX-License-Identifier: MIT */
/*
 * hostile_user - does what one user can do to the folders of segments, at full effort until it is
 * killed: hostile_user UID TEMPLATE, as root. TEMPLATE is any valid segment.
 *
 * It creates empty folders named like those of other users; files of processes that never existed,
 * each with counts, a tag and failures; files that never become segments; and the maximum number of
 * segments of "living" processes that a reader accepts, with rings that claim endless writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/abi/segment_abi.h"

enum {
    TABLES = 2 << 20,
    PAGE = 4096,
    FOLDERS = 1100,
    LIVING = 512,
    FILES = 10000,
    JUNK_EACH = 1,
    RING_SLOTS = 16384
};

static char template[TABLES];
static struct ntk_segment_header header;
static unsigned int uid;
static uint64_t state = 88172645463325252;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static struct ntk_segment_process *process_of(char *bytes)
{
    return (void *)(bytes + header.section[NTK_SECTION_PROCESS].offset);
}

/* The file, or -1 if its folder or disk is full. */
static int write_segment(int folder, const char *name)
{
    static const char hole[PAGE];
    int fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    for (off_t at = 0; fd >= 0 && at < TABLES; at += PAGE) {
        if (memcmp(template + at, hole, PAGE) != 0 && pwrite(fd, template + at, PAGE, at) != PAGE) {
            close(fd);
            return -1;
        }
    }
    if (fd >= 0 && ftruncate(fd, (off_t)header.segment_bytes) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void invent_process(int folder)
{
    struct ntk_segment_process *process = process_of(template);
    char name[64];
    int fd;

    process->pid = (uint32_t)(next_random() % 4000000 + 1);
    process->start_time = next_random() % 1000000000 + 1;
    process->ended = 1;
    (void)snprintf(process->tag, sizeof process->tag, "job %" PRIu64, next_random());
    (void)snprintf(name, sizeof name, "%" PRIu32 "-%" PRIu64, process->pid, process->start_time);
    fd = write_segment(folder, name);
    if (fd >= 0) {
        close(fd);
    }
}

static void make_junk(int folder)
{
    char name[64];

    (void)snprintf(name, sizeof name, "%" PRIu64 "-1", next_random() % 4000000 + 1);
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close(fd);
    }
}

/* The heads of its rings, or NULL. Its lock makes this process its holder. */
static struct ntk_segment_ring *pretend_to_live(int folder, unsigned int number)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    struct ntk_segment_process *process = process_of(template);
    const struct ntk_segment_section *section = &header.section[NTK_SECTION_RINGS];
    char name[64];

    process->pid = (uint32_t)getpid();
    process->start_time = number + 1;
    process->ended = 0;
    process->pid_namespace = 4242; /* not a process here */
    (void)snprintf(name, sizeof name, "%d-%u", (int)getpid(), number);
    int fd = write_segment(folder, name); /* stays open */
    process->pid_namespace = 0;
    if (fd < 0 || fcntl(fd, F_SETLK, &lock) != 0) {
        return NULL;
    }
    char *bytes = mmap(NULL, section->offset + (uint64_t)section->entry_bytes * section->count,
                       PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED) {
        return NULL;
    }
    struct ntk_segment_ring *rings = (void *)(bytes + section->offset);
    for (unsigned int i = 0; i < section->count; i++) {
        rings[i].capacity = RING_SLOTS;
        rings[i].offset = header.section[NTK_SECTION_SLOTS].offset;
        rings[i].state = NTK_RING_READY;
    }
    return rings;
}

int main(int argc, char **argv)
{
    static struct ntk_segment_ring *living[LIVING];
    char path[NTK_PATH_BYTES];
    int fd = argc == 3 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0 || pread(fd, template, TABLES, 0) != TABLES) {
        fprintf(stderr, "usage: hostile_user UID TEMPLATE\n");
        return 2;
    }
    close(fd);
    memcpy(&header, template, sizeof header);
    uid = (unsigned int)strtoul(argv[1], NULL, 10);
    state ^= uid;
    if (setgid(uid) != 0 || setuid(uid) != 0) {
        return 1;
    }
    process_of(template)->uid = uid;
    for (unsigned int i = 0; i < FOLDERS; i++) {
        (void)snprintf(path, sizeof path, NTK_HOOKS_PARENT "/" NTK_HOOKS_USER_PREFIX "%u",
                       uid * 10 + i);
        (void)mkdir(path, 0777);
    }
    (void)snprintf(path, sizeof path, NTK_HOOKS_PARENT "/" NTK_HOOKS_USER_PREFIX "%u", uid);
    int folder = mkdir(path, 0700) == 0 || errno == EEXIST
                     ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                     : -1;
    if (folder < 0) {
        return 1;
    }
    for (unsigned int i = 0; i < LIVING; i++) {
        living[i] = pretend_to_live(folder, i);
    }
    for (unsigned int files = 0;; files++) {
        struct ntk_segment_ring *rings = living[next_random() % LIVING];

        if (rings != NULL) {
            rings[next_random() % header.section[NTK_SECTION_RINGS].count].head +=
                next_random() % 100000;
        }
        if (files < FILES) {
            invent_process(folder);
            for (unsigned int i = 0; i < JUNK_EACH; i++) {
                make_junk(folder);
            }
        }
    }
}
