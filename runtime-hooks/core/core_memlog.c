/* SPDX-License-Identifier: MIT */
/*
 * The memory log: the newest allocations and releases, kept in the process and written as CSV when
 * memory runs out (docs/formats/memory-log.md).
 */
#include "runtime-hooks/core/core_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/str.h"

#define NAME_BYTES 48

struct entry {
    uint64_t time_ns;
    uint64_t bytes;
    uint64_t address;
    uint32_t model;
    uint16_t core;
    uint8_t category;
    bool is_free;
    uint32_t device, stack;
    char name[NAME_BYTES];
};

struct core_memlog {
    pthread_mutex_t lock;
    struct entry *entries; /* a ring; grows to its capacity on use */
    uint64_t capacity;
    uint64_t allocated;
    uint64_t count; /* ever added */
};

struct core_memlog *core_memlog_create(uint64_t entries)
{
    struct core_memlog *memlog = entries > 0 ? calloc(1, sizeof *memlog) : NULL;

    if (memlog) {
        pthread_mutex_init(&memlog->lock, NULL);
        memlog->capacity = entries;
    }
    return memlog;
}

void core_memlog_destroy(struct core_memlog *memlog)
{
    if (memlog) {
        pthread_mutex_destroy(&memlog->lock);
        free(memlog->entries);
        free(memlog);
    }
}

/* Room for one more entry, or the ring stays as large as it is. memlog->lock is held. */
static void ring_grow(struct core_memlog *memlog)
{
    if (memlog->count < memlog->allocated || memlog->allocated >= memlog->capacity) {
        return;
    }
    uint64_t wanted = memlog->allocated > 0 ? memlog->allocated * 2 : 256;
    wanted = wanted < memlog->capacity ? wanted : memlog->capacity;
    struct entry *entries = realloc(memlog->entries, wanted * sizeof *entries);
    if (!entries) {
        memlog->capacity = memlog->allocated;
        return;
    }
    memlog->entries = entries;
    memlog->allocated = wanted;
}

void core_memlog_add(struct core_memlog *memlog, bool is_free, uint32_t device, uint32_t stack,
                     const struct core_allocation *allocation, const char *name)
{
    if (!memlog) {
        return;
    }
    pthread_mutex_lock(&memlog->lock);
    ring_grow(memlog);
    if (memlog->allocated > 0) {
        struct entry *entry = &memlog->entries[memlog->count % memlog->allocated];

        *entry = (struct entry){ .time_ns = ntk_clock_realtime_ns(),
                                 .bytes = allocation->bytes,
                                 .address = allocation->hook.address,
                                 .model = allocation->hook.model.id,
                                 .core = allocation->hook.core,
                                 .category = allocation->hook.category,
                                 .is_free = is_free,
                                 .device = device,
                                 .stack = stack };
        (void)ntk_str_copy(entry->name, sizeof entry->name, name ? name : "");
        memlog->count++;
    }
    pthread_mutex_unlock(&memlog->lock);
}

int core_memlog_write(struct core_memlog *memlog, uint32_t device, char *out_path,
                      size_t path_bytes)
{
    static const char *const categories[] = {
#define NTK_MEMORY(id, symbol, name, location, sysfs, key, label, oom, ntff) name,
#include "shared/abi/memory.def"
#undef NTK_MEMORY
    };
    const char *folder = getenv("NEURON_RT_OOM_DUMP_DIRECTORY");
    int64_t totals[NTK_MEMORY_CATEGORY_COUNT] = { 0 };

    if (!memlog) {
        return -ENOENT;
    }
    (void)snprintf(out_path, path_bytes, "%s/nrt_mem_log_device_%u_%08x.csv",
                   folder && *folder ? folder : "/tmp", device, (unsigned)getpid());
    FILE *file = fopen(out_path, "wxe");
    if (!file) {
        return -errno; /* one per process: the first shortage tells most */
    }
    (void)fputs(
        "seq,timestamp_ns,op,pid,nd,nc,hbm,placement,usage,size,align,address,model_id,name,"
        "total_after\n",
        file);
    pthread_mutex_lock(&memlog->lock);
    uint64_t first = memlog->count > memlog->allocated ? memlog->count - memlog->allocated : 0;
    for (uint64_t i = first; i < memlog->count; i++) {
        const struct entry *entry = &memlog->entries[i % memlog->allocated];

        totals[entry->category] += entry->is_free ? -(int64_t)entry->bytes : (int64_t)entry->bytes;
        (void)fprintf(file,
                      "%" PRIu64 ",%" PRIu64 ",%s,%d,%u,%u,%u,%s,%s,%" PRIu64 ",64,0x%" PRIx64
                      ",%u,%s,%" PRId64 "\n",
                      i, entry->time_ns, entry->is_free ? "free" : "alloc", (int)getpid(),
                      entry->device, entry->core, entry->stack,
                      entry->category >= NTK_MEMORY_HOST_APPLICATION ? "host" : "device",
                      categories[entry->category], entry->bytes, entry->address, entry->model,
                      entry->name, totals[entry->category]);
    }
    pthread_mutex_unlock(&memlog->lock);
    return fclose(file) == 0 ? 0 : -errno;
}
