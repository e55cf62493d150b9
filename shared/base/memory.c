/* SPDX-License-Identifier: MIT */
/* memory - the memory that this process can still allocate. */
#include "shared/base/memory.h"

#include <glob.h>
#include <limits.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/base/str.h"

#define LARGE_PAGE ((uintptr_t)2 << 20) /* a large page, if normal pages have 4 KiB */
#define GROUP_ROOT "/sys/fs/cgroup"

static uint64_t less(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The number after a key at the start of a line; 0 if the key is missing. */
static uint64_t value_of(const char *text, const char *key)
{
    const char *line = text;
    unsigned long long value;

    while (line) {
        if (ntk_str_starts_with(line, key)) {
            return sscanf(line + strlen(key), "%llu", &value) == 1 ? value : 0;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return 0;
}

static uint64_t machine_available(void)
{
    char text[4096];

    if (ntk_fs_read_text("/proc/meminfo", text, sizeof text) < 0) {
        return UINT64_MAX;
    }
    return (value_of(text, "MemAvailable:") + value_of(text, "SwapFree:")) * 1024;
}

static bool read_number(const char *folder, const char *name, uint64_t *out)
{
    char path[1200];
    char text[64];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return ntk_fs_read_text(path, text, sizeof text) > 0 && ntk_str_parse_u64(text, out) == 0;
}

/* Page cache that no process uses counts towards the group but is reclaimed first. */
static uint64_t group_left(const char *folder, const char *limit_name, const char *usage_name,
                           const char *cache_key)
{
    char path[1200];
    char text[8192];
    uint64_t limit;
    uint64_t usage;
    uint64_t cache = 0;

    if (!read_number(folder, limit_name, &limit) || !read_number(folder, usage_name, &usage)) {
        return UINT64_MAX;
    }
    (void)snprintf(path, sizeof path, "%s/memory.stat", folder);
    if (ntk_fs_read_text(path, text, sizeof text) > 0) {
        cache = value_of(text, cache_key);
    }
    usage -= less(usage, cache);
    return limit - less(limit, usage);
}

/* The smallest rest that this process's group and the groups above it leave. */
static uint64_t groups_left(void)
{
    uint64_t left = group_left(GROUP_ROOT "/memory", "memory.limit_in_bytes",
                               "memory.usage_in_bytes", "total_inactive_file ");
    char text[4096];
    char folder[1024];
    const char *path;

    if (ntk_fs_read_text("/proc/self/cgroup", text, sizeof text) < 0) {
        return left;
    }
    path = strstr(text, "0::/");
    if (!path) {
        return left;
    }
    path += strlen("0::");
    (void)snprintf(folder, sizeof folder, GROUP_ROOT "%.*s", (int)strcspn(path, "\n"), path);
    while (strlen(folder) >= strlen(GROUP_ROOT)) {
        left = less(left, group_left(folder, "memory.max", "memory.current", "inactive_file "));
        *strrchr(folder, '/') = '\0';
    }
    return left;
}

static uint64_t address_space_left(void)
{
    struct rlimit limit;
    char text[128];
    unsigned long long pages;
    uint64_t used;

    if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
        ntk_fs_read_text("/proc/self/statm", text, sizeof text) < 0 ||
        sscanf(text, "%llu", &pages) != 1) {
        return UINT64_MAX;
    }
    used = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return limit.rlim_cur - less(limit.rlim_cur, used);
}

uint64_t ntk_memory_available(void)
{
    return less(machine_available(), less(groups_left(), address_space_left()));
}

/* One byte is too small for any core file. The limit also keeps the kernel from piping a core to a
 * program. */
void ntk_memory_forbid_cores(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max > 0 ? 1 : 0;
        (void)setrlimit(RLIMIT_CORE, &limit);
    }
}

#define BALLOONS "/sys/bus/virtio/drivers/virtio_balloon"
#define BALLOON_REPORTS 5 /* VIRTIO_BALLOON_F_REPORTING: its position in the feature text */

/* Returns true if this machine is a guest that reports free blocks to its host. The host then takes
 * large pages away and must find new memory at the next access, which costs 2 s of CPU per GB.
 * Pages of 4 KiB from partly used blocks cost 0.4 s. */
static bool reports_free_blocks(void)
{
    static atomic_int known; /* 0: not read yet */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);

    if (answer == 0) {
        glob_t found = { 0 };
        char text[512];
        answer = 1;
        if (glob(BALLOONS "/virtio*/features", 0, NULL, &found) == 0) {
            for (size_t i = 0; i < found.gl_pathc; i++) {
                if (ntk_fs_read_text(found.gl_pathv[i], text, sizeof text) > BALLOON_REPORTS &&
                    text[BALLOON_REPORTS] == '1') {
                    answer = 2;
                }
            }
        }
        globfree(&found);
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2;
}

/* A hint: if the kernel ignores it, the call only costs time. */
void ntk_memory_is_large(void *bytes, uint64_t bytes_count)
{
    uintptr_t first = ((uintptr_t)bytes + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)bytes + bytes_count) & ~(LARGE_PAGE - 1);

    if (bytes && first < end && !reports_free_blocks()) {
        (void)madvise((char *)bytes + (first - (uintptr_t)bytes), end - first, MADV_HUGEPAGE);
    }
}

void ntk_memory_expect(size_t bytes_count)
{
#ifdef MADV_POPULATE_WRITE
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *room = malloc(bytes_count);
    uintptr_t first = ((uintptr_t)room + page - 1) & ~(page - 1);

    if (room && first - (uintptr_t)room < bytes_count) {
        (void)madvise(room + (first - (uintptr_t)room), bytes_count - (first - (uintptr_t)room),
                      MADV_POPULATE_WRITE);
    }
    free(room);
#else
    (void)bytes_count;
#endif
}

#define PLENTY_BYTES ((uint64_t)4 << 30)

/* glibc maps long arrays separately and unmaps them when they are freed. Without that, gaps between
 * arrays waste memory. */
void ntk_memory_keep_freed(void)
{
#ifdef __GLIBC__
    if (ntk_memory_available() < PLENTY_BYTES) {
        return;
    }
    (void)mallopt(M_MMAP_MAX, 0);
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

void ntk_memory_trim(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}
