/* SPDX-License-Identifier: MIT */
/* out_of_memory - finds the first failure, then replays the memory up to it. */
#include "profiler/analysis/out_of_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/interval.h"
#include "profiler/trace/chip.h"
#include "profiler/trace/sorter.h"
#include "shared/base/fs.h"
#include "shared/base/map.h"
#include "shared/base/order.h"

struct moment { /* item of the sorter */
    int64_t time_ns;
    uint64_t number, memory, unused;
};
#define MOMENTS_BYTES ((size_t)8 << 20) /* memory per list; longer lists are stored in a file */

NTK_ORDER(compare_moments, struct moment, NTK_UP(number));

NTK_ORDER(compare_usages, struct ntk_oom_usage, NTK_DOWN(bytes) NTK_TEXT(usage));

/* Returns the first failure with the code of out of memory, else the last other failure; NULL if
 * none. */
static const struct ntk_system_memory *failure_find(const struct ntk_system_trace *trace,
                                                    uint64_t *out_count)
{
    const struct ntk_system_memory *memories = trace->memories.items;
    const struct ntk_system_memory *found = NULL;

    for (size_t i = 0; i < trace->memories.count; i++) {
        const struct ntk_system_memory *one = &memories[i];

        if (!one->has_stopped || !ntk_system_memory_failed(one)) {
            continue;
        }
        bool is_first = one->code == NTK_SYSTEM_OUT_OF_MEMORY;
        bool has_first = found && found->code == NTK_SYSTEM_OUT_OF_MEMORY;

        ++*out_count;
        if (!found || (is_first && (!has_first || one->time_ns < found->time_ns)) ||
            (!is_first && !has_first && one->time_ns > found->time_ns)) {
            found = one;
        }
    }
    return found;
}

/* Finds the innermost load or execution on the core around the failure. */
static void call_find(const struct ntk_system_trace *trace, struct ntk_out_of_memory *memory)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];

        ntk_system_trace_passed(trace, i);
        if (span->start_ns > memory->time_ns) {
            break;
        }
        if (span->nc == memory->nc && span->end_ns >= memory->time_ns && !span->is_instant &&
            (strcmp(span->type, "nrt_load") == 0 || strcmp(span->type, "nrt_execute") == 0 ||
             strcmp(span->type, "nrta_execute_schedule") == 0)) {
            memory->call = span->type;
            memory->model_id = span->model_id;
            memory->model = span->model_id ? span->name : "";
        }
    }
}

static struct ntk_oom_usage *usage_of(struct ntk_out_of_memory *memory, const char *usage)
{
    for (size_t i = 0; i < memory->usage_count; i++) {
        if (strcmp(memory->usages[i].usage, usage) == 0) {
            return &memory->usages[i];
        }
    }
    if (memory->usage_count == NTK_OOM_USAGES_MAX) {
        return &memory->usages[NTK_OOM_USAGES_MAX - 1];
    }
    struct ntk_oom_usage *added = &memory->usages[memory->usage_count++];
    added->usage = memory->usage_count == NTK_OOM_USAGES_MAX ? "other" : usage;
    return added;
}

static void usage_add(struct ntk_out_of_memory *memory, const char *usage, uint64_t bytes)
{
    struct ntk_oom_usage *of = usage_of(memory, usage);

    of->bytes = ntk_count_sum(of->bytes, bytes);
    of->peak_bytes = of->bytes > of->peak_bytes ? of->bytes : of->peak_bytes;
    memory->total_bytes = ntk_count_sum(memory->total_bytes, bytes);
}

static void bases_add(const struct ntk_system_trace *trace, struct ntk_out_of_memory *memory)
{
    ntk_vec_each(const struct ntk_system_account, account, &trace->accounts) {
        uint64_t unknown = account->base_bytes;

        if (account->hbm != memory->hbm || account->device != memory->device) {
            continue;
        }
        for (size_t u = 0; u < account->usage_count; u++) {
            uint64_t bytes =
                account->usages[u].base_bytes < unknown ? account->usages[u].base_bytes : unknown;

            usage_add(memory, account->usages[u].usage, bytes);
            unknown -= bytes;
        }
        usage_add(memory, "unknown", unknown);
    }
}

static void largest_add(struct ntk_out_of_memory *memory, const struct ntk_system_memory *one)
{
    struct ntk_oom_allocation added = { one->usage, one->time_ns, one->address, one->bytes,
                                        one->nc };
    size_t i = memory->largest_count;

    memory->largest_count += i < NTK_OOM_LARGEST_MAX;
    for (; i > 0 && memory->largest[i - 1].bytes < added.bytes; i--) {
        if (i < NTK_OOM_LARGEST_MAX) {
            memory->largest[i] = memory->largest[i - 1];
        }
    }
    if (i < NTK_OOM_LARGEST_MAX) {
        memory->largest[i] = added;
    }
}

static int moments_add(const struct ntk_system_trace *trace, const struct ntk_out_of_memory *memory,
                       struct ntk_sorter *moments)
{
    const struct ntk_system_memory *memories = trace->memories.items;

    for (size_t i = 0; i < trace->memories.count; i++) {
        const struct ntk_system_memory *one = &memories[i];

        if (one->account == NTK_SYSTEM_NO_ACCOUNT || one->hbm != memory->hbm ||
            one->device != memory->device || one->time_ns > memory->time_ns ||
            ntk_system_memory_failed(one)) {
            continue;
        }
        struct moment *moment = ntk_sorter_add(moments);
        if (!moment) {
            return moments->failed;
        }
        *moment = (struct moment){ one->time_ns <= INT64_MAX ? (int64_t)one->time_ns : INT64_MAX,
                                   one->number, i, 0 };
    }
    return 0;
}

static int moments_find(const struct ntk_system_trace *trace,
                        const struct ntk_out_of_memory *memory, struct ntk_sorted *out_moments)
{
    struct ntk_sorter sorter;

    ntk_sorter_init(&sorter, sizeof(struct moment), compare_moments, MOMENTS_BYTES,
                    ntk_fs_temporary_folder());
    int ret = moments_add(trace, memory, &sorter);
    ret = ret < 0 ? ret : ntk_sorter_finish(&sorter, MOMENTS_BYTES, out_moments, NULL);
    ntk_sorter_fini(&sorter);
    return ret;
}

/* Replays the trace; allocations are identified by address until freed. */
static int replay(const struct ntk_system_trace *trace, const struct ntk_sorted *moments,
                  struct ntk_out_of_memory *memory)
{
    const struct ntk_system_memory *memories = trace->memories.items;
    struct ntk_map kept = { 0 }; /* maps an address to index + 1 */
    int ret = 0;

    const struct moment *all = moments->items;
    for (const struct moment *moment = all; moment < all + moments->count; moment++) {
        const struct ntk_system_memory *one = &memories[moment->memory];

        if (!one->is_free) {
            usage_add(memory, one->usage, one->bytes);
            ret = ret < 0 ? ret
                          : ntk_map_put_number(&kept, one->address,
                                               (void *)(uintptr_t)(moment->memory + 1));
            continue;
        }
        struct ntk_oom_usage *of = usage_of(memory, one->usage);
        uint64_t bytes = one->bytes < of->bytes ? one->bytes : of->bytes;

        of->bytes -= bytes;
        memory->total_bytes -= bytes < memory->total_bytes ? bytes : memory->total_bytes;
        if (ntk_map_get_number(&kept, one->address)) {
            /* removing the entry would be slower */
            (void)ntk_map_put_number(&kept, one->address, NULL);
            memory->freed_count++;
            memory->freed_bytes = ntk_count_sum(memory->freed_bytes, one->bytes);
        }
    }
    for (const struct moment *moment = all; moment < all + moments->count; moment++) {
        const struct ntk_system_memory *one = &memories[moment->memory];

        if (ntk_map_get_number(&kept, one->address) == (void *)(uintptr_t)(moment->memory + 1)) {
            memory->kept_count++;
            memory->kept_bytes = ntk_count_sum(memory->kept_bytes, one->bytes);
            largest_add(memory, one);
        }
    }
    ntk_map_fini(&kept);
    return ret < 0 ? -ENOMEM : 0;
}

int ntk_analysis_out_of_memory(const struct ntk_system_trace *trace,
                               struct ntk_out_of_memory *out_memory)
{
    struct ntk_out_of_memory memory = { .model = "", .call = "" };
    struct ntk_sorted moments = { 0 };
    const struct ntk_system_memory *failure = failure_find(trace, &memory.failed_count);
    struct ntk_chip chip;

    if (!failure) {
        *out_memory = memory;
        return 0;
    }
    memory.is_there = true;
    memory.time_ns = failure->time_ns;
    memory.usage = failure->usage;
    memory.size = failure->bytes;
    memory.nc = failure->nc;
    memory.code = failure->code;
    memory.hbm = failure->hbm;
    memory.device = failure->device;
    if (trace->info && ntk_chip_find(trace->info->instance_type, &chip)) {
        memory.capacity_bytes = chip.hbm_stack_bytes;
    }
    call_find(trace, &memory);
    bases_add(trace, &memory);
    int ret = moments_find(trace, &memory, &moments);
    ret = ret < 0 ? ret : replay(trace, &moments, &memory);
    ntk_sorted_fini(&moments, sizeof(struct moment));
    if (ret < 0) {
        return ret;
    }
    qsort(memory.usages, memory.usage_count, sizeof *memory.usages, compare_usages);
    memory.is_fragmented = memory.code == NTK_SYSTEM_OUT_OF_MEMORY && memory.size > 0 &&
                           memory.hbm != NTK_SYSTEM_NO_STACK &&
                           memory.capacity_bytes > memory.total_bytes &&
                           memory.capacity_bytes - memory.total_bytes >= memory.size;
    *out_memory = memory;
    return 0;
}
