/* SPDX-License-Identifier: MIT */
/*
 * nds_segment - selects the segment that an instance shows.
 *
 * The segment of another process is opened read-only through the registry of shared/ring. The
 * segment of the calling process must not be opened as a file, because closing the file would drop
 * the lock that shows readers that the process is alive; so it is found among the mappings of the
 * process and mapped a second time with mremap(), which needs no descriptor.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime-hooks/nds/nds_store.h"
#include "shared/abi/paths.h"
#include "shared/ring/ring_segment.h"

#define MAPS_LINE_BYTES (NTK_PATH_BYTES * 2)

/* Returns true for the line of /proc/self/maps where the hooks have mapped this process's segment:
 * the only writable shared mapping with that name. */
static bool is_own_mapping(const char *line, pid_t pid, uintptr_t *out_start, size_t *out_bytes)
{
    unsigned long long started;
    unsigned int name_pid;
    uintptr_t start, end;
    uint64_t offset;
    char flags[8];
    char name[64];
    const char *slash;
    size_t length;

    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %" SCNx64, &start, &end, flags, &offset) != 4 ||
        strcmp(flags, "rw-s") != 0 || offset != 0 || end <= start) {
        return false;
    }
    slash = strrchr(line, '/');
    if (slash == NULL) {
        return false;
    }
    length = strcspn(slash + 1, " \n"); /* " (deleted)" may follow */
    if (length >= sizeof name) {
        return false;
    }
    memcpy(name, slash + 1, length);
    name[length] = '\0';
    if (ntk_paths_parse_segment_name(name, &name_pid, &started) == 0 ||
        name_pid != (unsigned int)pid) {
        return false;
    }
    *out_start = start;
    *out_bytes = end - start;
    return true;
}

static struct ntk_ring_segment *own_segment_at(uintptr_t start, size_t bytes, pid_t pid)
{
    struct ntk_ring_segment *segment = NULL;
    struct ntk_ring_process process;
    /* With old size 0, mremap() creates another mapping of the same pages; it rejects private
     * memory, which may have replaced the segment since the maps were read. */
    void *mapping =
        mremap((void *)start, 0, bytes, MREMAP_MAYMOVE); /* NOLINT(performance-no-int-to-ptr) */

    if (mapping == MAP_FAILED) {
        return NULL;
    }
    if (mprotect(mapping, bytes, PROT_READ) != 0 ||
        ntk_ring_segment_adopt(mapping, bytes, &segment, NULL) < 0) {
        (void)munmap(mapping, bytes);
        return NULL;
    }
    ntk_ring_segment_process(segment, &process);
    if (process.own_pid != (uint32_t)pid || ntk_ring_segment_said_goodbye(segment)) {
        ntk_ring_segment_close(segment);
        return NULL;
    }
    return segment;
}

static struct ntk_ring_segment *find_own(pid_t pid)
{
    struct ntk_ring_segment *segment = NULL;
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[MAPS_LINE_BYTES];
    uintptr_t start;
    size_t bytes;

    if (maps == NULL) {
        return NULL;
    }
    while (segment == NULL && fgets(line, sizeof line, maps) != NULL) {
        if (is_own_mapping(line, pid, &start, &bytes)) {
            segment = own_segment_at(start, bytes, pid);
        }
    }
    (void)fclose(maps);
    return segment;
}

static int open_other(struct nds_store *store, pid_t pid)
{
    struct ntk_ring_options options = { .from = NTK_RING_FROM_NOW };
    size_t i;
    int ret = ntk_ring_registry_open(&options, &store->registry, NULL);

    if (ret == 0) {
        ret = ntk_ring_registry_poll(store->registry, NULL, NULL);
    }
    for (i = 0; ret == 0 && i < ntk_ring_registry_count(store->registry); i++) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(store->registry, i);
        struct ntk_ring_process process;

        ntk_ring_segment_process(segment, &process);
        if (process.pid == (uint32_t)pid && ntk_ring_segment_state(segment) == NTK_SEGMENT_ALIVE) {
            store->segment = segment; /* the last segment, if a pid was reused */
        }
    }
    if (ret == 0 && store->segment == NULL) {
        ret = -ESRCH;
    }
    if (ret < 0) {
        nds_segment_close(store);
    }
    return ret;
}

int nds_segment_open(struct nds_store *store, pid_t pid)
{
    if (pid < 0) {
        return -EINVAL;
    }
    store->own = pid == 0 || pid == getpid();
    store->writable = pid == 0;
    if (!store->own) {
        return open_other(store, pid);
    }
    nds_segment_refresh(store);
    return 0;
}

void nds_segment_close(struct nds_store *store)
{
    if (store->own) {
        ntk_ring_segment_close(store->segment);
    }
    ntk_ring_registry_close(store->registry);
    store->registry = NULL;
    store->segment = NULL;
}

void nds_segment_refresh(struct nds_store *store)
{
    struct ntk_ring_segment *segment;

    if (!store->own) {
        return;
    }
    if (store->pid != getpid()) { /* child of a fork: the segment belongs to the parent */
        ntk_ring_segment_close(store->segment);
        store->segment = NULL;
        store->pid = getpid();
    }
    if (store->segment != NULL && !ntk_ring_segment_said_goodbye(store->segment)) {
        return;
    }
    segment = find_own(store->pid);
    if (segment != NULL) { /* otherwise the previous data stays */
        ntk_ring_segment_close(store->segment);
        store->segment = segment;
    }
}

uint32_t nds_cores_per_device(const struct nds_store *store)
{
    struct ntk_ring_process process;

    if (store->segment == NULL) {
        return 0;
    }
    ntk_ring_segment_process(store->segment, &process);
    return process.cores_per_device;
}
