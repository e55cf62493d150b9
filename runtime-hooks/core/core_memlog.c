/* SPDX-License-Identifier: MIT */
/*
 * core_memlog - the memory log: keeps the newest allocations and releases of the process; when
 * memory runs out, writes files and reports to the front (docs/formats/memory-log.md).
 */
#include "runtime-hooks/core/core_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/order.h"
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
    struct entry *entries; /* a ring that grows up to its capacity */
    uint64_t capacity;
    uint64_t allocated;
    uint64_t count; /* number of entries added so far */
    /* the ring's own memory, counted as host memory of the process */
    struct ntk_hooks_memory counted;
    ntk_hooks_row row;
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

static void ring_uncount(struct core_memlog *memlog)
{
    if (memlog->counted.bytes > 0) {
        ntk_hooks_memory_free(&memlog->counted, memlog->row);
        memlog->counted.bytes = 0;
    }
}

/* Counts the ring as host memory of the runtime. */
static void ring_count(struct core_memlog *memlog)
{
    ring_uncount(memlog);
    memlog->counted = (struct ntk_hooks_memory){
        .address = (uint64_t)(uintptr_t)memlog->entries,
        .bytes = memlog->allocated * sizeof *memlog->entries,
        .core = NTK_NO_CORE,
        .category = NTK_MEMORY_HOST_APPLICATION,
        .name = ntk_hooks_name("memory log"),
    };
    memlog->row = ntk_hooks_memory_alloc(&memlog->counted);
}

void core_memlog_finish(struct core_memlog *memlog)
{
    if (memlog) {
        pthread_mutex_lock(&memlog->lock);
        ring_uncount(memlog);
        memlog->capacity = memlog->allocated;
        pthread_mutex_unlock(&memlog->lock);
    }
}

/* Makes room for another entry, or keeps the ring at its size. The caller holds memlog->lock. */
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
    ring_count(memlog);
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

/* Writes a name as one CSV field. */
static void field_write(FILE *file, const char *name)
{
    if (!strpbrk(name, ",\"\r\n")) {
        (void)fputs(name, file);
        return;
    }
    (void)fputc('"', file);
    for (; *name; name++) {
        if (*name == '"') {
            (void)fputc('"', file);
        }
        (void)fputc(*name, file);
    }
    (void)fputc('"', file);
}

#define MEMLOG_HEADING \
    "seq,timestamp_ns,op,pid,nd,nc,hbm,placement,usage,size,align,address,model_id,name"

/* Writes the entry, without the end of its line. */
static void entry_write(const struct entry *entry, uint64_t seq, FILE *file)
{
    static const char *const categories[] = {
#define NTK_MEMORY(id, symbol, name, location, sysfs, key, oom, ntff) name,
#include "shared/abi/memory.def"
#undef NTK_MEMORY
    };
    bool is_host = ntk_memory_location_of(entry->category) == NTK_MEMORY_HOST;

    (void)fprintf(file,
                  "%" PRIu64 ",%" PRIu64 ",%s,%d,%u,%u,%u,%s,%s,%" PRIu64 ",64,0x%" PRIx64 ",%u,",
                  seq, entry->time_ns, entry->is_free ? "free" : "alloc", (int)getpid(),
                  entry->device, entry->core, entry->stack, is_host ? "host" : "device",
                  categories[entry->category], entry->bytes, entry->address, entry->model);
    field_write(file, entry->name);
}

/* Selects all stacks instead of one. */
#define ALL_STACKS UINT32_MAX
static void memlog_write(struct core_memlog *memlog, uint32_t device, uint32_t stack, FILE *file)
{
    int64_t totals[NTK_MEMORY_CATEGORY_COUNT] = { 0 };

    (void)fputs(MEMLOG_HEADING ",total_after\n", file);
    pthread_mutex_lock(&memlog->lock);
    uint64_t first = memlog->count > memlog->allocated ? memlog->count - memlog->allocated : 0;
    for (uint64_t i = first; i < memlog->count; i++) {
        const struct entry *entry = &memlog->entries[i % memlog->allocated];
        bool is_host = ntk_memory_location_of(entry->category) == NTK_MEMORY_HOST;

        if (stack != ALL_STACKS && (is_host || entry->device != device || entry->stack != stack)) {
            continue;
        }
        totals[entry->category] += entry->is_free ? -(int64_t)entry->bytes : (int64_t)entry->bytes;
        entry_write(entry, i, file);
        (void)fprintf(file, ",%" PRId64 "\n", totals[entry->category]);
    }
    pthread_mutex_unlock(&memlog->lock);
}

/* Creates a file with this name in the dump folder; replaces a file that one of our earlier
 * processes left. */
static FILE *dump_open(const struct ntk_core *core, char *path, size_t path_bytes,
                       enum ntk_core_text name, const struct core_text_facts *facts)
{
    int used = snprintf(path, path_bytes, "%s/", core->dump_folder);

    if (used < 0 || (size_t)used >= path_bytes) {
        return NULL;
    }
    (void)core_text_write(core->options.texts, name, facts, path + used, path_bytes - (size_t)used);
    (void)unlink(path);
    return fopen(path, "wxe");
}

static void table_dump(struct ntk_core *core, const struct core_usage_view *view,
                       enum ntk_core_text name)
{
    const struct core_text_facts facts = { .device = view->device,
                                           .stack = view->stack,
                                           .core = view->core };
    char path[NTK_PATH_BYTES];
    FILE *file = dump_open(core, path, sizeof path, name, &facts);

    if (file) {
        core_usage_write(core->usage, view, file);
        (void)fclose(file);
    }
}

/* Writes the files about a shortage. out_path is the log of the device, or "" if it could not be
 * written. */
static void files_dump(struct ntk_core *core, const struct core_usage_view *view, uint32_t local,
                       char *out_path, size_t path_bytes)
{
    struct core_usage_view one = *view;
    char path[NTK_PATH_BYTES];
    const struct core_text_facts facts = {
        .device = view->device,
        .stack = view->stack,
        .pid = (uint32_t)getpid(),
        .what = core->options.dump_name ? core->options.dump_name : "core",
    };

    out_path[0] = '\0';
    table_dump(core, view, NTK_CORE_TEXT_TABLE_OF_STACK);
    one.core = local;
    table_dump(core, &one, NTK_CORE_TEXT_TABLE_OF_CORE);
    if (!core->memlog) {
        return;
    }
    FILE *file = dump_open(core, path, sizeof path, NTK_CORE_TEXT_LOG_OF_STACK, &facts);
    if (file) {
        memlog_write(core->memlog, view->device, view->stack, file);
        (void)fclose(file);
    }
    file = dump_open(core, path, sizeof path, NTK_CORE_TEXT_LOG_OF_DEVICE, &facts);
    if (file) {
        memlog_write(core->memlog, view->device, ALL_STACKS, file);
        if (fclose(file) == 0) {
            (void)ntk_str_copy(out_path, path_bytes, path);
        }
    }
}

/* Writes "LNC size is 1. Neuron Cores using this HBM: NC 4 and NC 5". */
static void cores_sentence(const struct ntk_core *core, uint32_t stack, char *text, size_t bytes)
{
    uint32_t count = core->row->cores_per_stack;
    size_t used =
        (size_t)snprintf(text, bytes, "LNC size is %u. Neuron Cores using this HBM:", core->lnc);

    for (uint32_t i = 0; i < count && used < bytes; i++) {
        const struct core_text_facts facts = { .core = stack * count + i };
        const char *before = i == 0 ? "" : i + 1 == count ? " and" : ",";
        char name[32];

        used += (size_t)snprintf(
            text + used, bytes - used, "%s %s", before,
            core_text_write(core->options.texts, NTK_CORE_TEXT_CORE, &facts, name, sizeof name));
    }
}

/* Reports the table and cores of one stack to the front. log_path is "" without a log. */
static void stack_tell(struct ntk_core *core, const struct core_usage_view *view, const char *cause,
                       const char *log_path)
{
    char cores[128];
    char *table = NULL;
    size_t table_bytes = 0;

    if (!core->options.shortage) {
        return;
    }
    FILE *file = open_memstream(&table, &table_bytes);
    if (file) {
        core_usage_write(core->usage, view, file);
        if (*log_path) {
            (void)fprintf(file, "The allocation log was written to %s\n", log_path);
        }
        (void)fclose(file);
    }
    cores_sentence(core, view->stack, cores, sizeof cores);
    core->options.shortage(cause, cores, table ? table : "");
    free(table);
}

static struct core_usage_view stack_view(const struct ntk_core *core, uint32_t device,
                                         uint32_t stack)
{
    return (struct core_usage_view){
        .device = device,
        .cores_per_device = core->row->facts.cores_per_device,
        .cores_per_stack = core->row->cores_per_stack,
        .stack = stack,
        .core = CORE_USAGE_ALL,
        .texts = core->options.texts,
        .stack_bytes_used = ntk_abi_load(&core->soft->state->device[device].hbm_bytes_used[stack]),
    };
}

void core_shortage_tell(struct ntk_core *core, uint32_t physical_core, const char *cause)
{
    uint32_t per_device = core->row->facts.cores_per_device;
    uint32_t local = physical_core % per_device;
    char path[NTK_PATH_BYTES] = "";

    if (core->options.shortage_off) {
        return;
    }
    struct core_usage_view view =
        stack_view(core, physical_core / per_device, local / core->row->cores_per_stack);
    /* Files are written only once, because a process's first shortage explains more than later
     * ones. */
    if (!atomic_exchange(&core->has_dumped, true)) {
        files_dump(core, &view, local, path, sizeof path);
    }
    stack_tell(core, &view, cause, path);
}

/* --- faults on request ------------------------------------------------------------------------ */

void ntk_core_memory_report(struct ntk_core *core)
{
    ntk_vec_each(struct core_stack *, stack, &core->stacks) {
        struct core_usage_view view = stack_view(core, (*stack)->device, (*stack)->index);
        const struct core_text_facts facts = { .device = view.device, .stack = view.stack };
        char place[32];
        char cause[64];

        (void)snprintf(
            cause, sizeof cause, "Current memory use of %s",
            core_text_write(view.texts, NTK_CORE_TEXT_STACK, &facts, place, sizeof place));
        stack_tell(core, &view, cause, "");
    }
}

/* An entry of the log and its sequence number. */
struct numbered {
    const struct entry *entry;
    uint64_t seq;
};

/* Sorts by address, then by time. */
NTK_ORDER(numbered_compare, struct numbered, NTK_UP(entry->address) NTK_UP(seq));

/* Writes the allocations known to the log: the last entry of an address, if it is not a release.
 * The caller holds memlog->lock. Returns -ENOMEM if out of memory. */
static int live_write(const struct core_memlog *memlog, uint32_t device, uint32_t stack, FILE *file)
{
    uint64_t first = memlog->count > memlog->allocated ? memlog->count - memlog->allocated : 0;
    struct numbered *list = calloc(memlog->count - first + 1, sizeof *list);
    size_t count = 0;

    if (!list) {
        return -ENOMEM;
    }
    for (uint64_t i = first; i < memlog->count; i++) {
        const struct entry *entry = &memlog->entries[i % memlog->allocated];

        if (ntk_memory_location_of(entry->category) == NTK_MEMORY_DEVICE &&
            entry->device == device && entry->stack == stack && entry->bytes > 0) {
            list[count++] = (struct numbered){ entry, i };
        }
    }
    qsort(list, count, sizeof *list, numbered_compare);
    (void)fputs(MEMLOG_HEADING "\n", file);
    for (size_t i = 0; i < count; i++) {
        bool is_last = i + 1 == count || list[i + 1].entry->address != list[i].entry->address;

        if (is_last && !list[i].entry->is_free) {
            entry_write(list[i].entry, list[i].seq, file);
            (void)fputc('\n', file);
        }
    }
    free(list);
    return 0;
}

int ntk_core_memory_dump(struct ntk_core *core, void (*tell)(const char *path), struct ntk_err *err)
{
    if (!core->memlog) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "the process has no memory log");
    }
    ntk_vec_each(struct core_stack *, stack, &core->stacks) {
        const struct core_text_facts facts = { .device = (*stack)->device,
                                               .stack = (*stack)->index,
                                               .pid = (uint32_t)getpid() };
        char path[NTK_PATH_BYTES];
        FILE *file = dump_open(core, path, sizeof path, NTK_CORE_TEXT_LIVE_OF_STACK, &facts);

        if (!file) {
            return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot write '%s': %s", path,
                               strerror(errno));
        }
        pthread_mutex_lock(&core->memlog->lock);
        int ret = live_write(core->memlog, (*stack)->device, (*stack)->index, file);
        pthread_mutex_unlock(&core->memlog->lock);
        if (fclose(file) != 0 && ret == 0) {
            ret = -EIO;
        }
        if (ret < 0) {
            return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot write '%s': %s", path,
                               strerror(-ret));
        }
        tell(path);
    }
    return 0;
}
