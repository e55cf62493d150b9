/* SPDX-License-Identifier: MIT */
/* rows_system_memory - creates rows for device memory of all inspected processes: use of each stack
 * over time. */
#include "profiler/output/tables/rows_system.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/tables/rows.h"
#include "profiler/trace/chip.h"
#include "profiler/trace/sorter.h"
#include "shared/base/fs.h"
#include "shared/base/order.h"

/* Maximum number of devices and stacks, because files may be hostile. */
#define STACKS_MAX 256

/* Stacks of all processes: the uses of one stack are added. */
struct stacks {
    size_t count;
    struct ntk_hbm_row rows[STACKS_MAX];
};

static struct ntk_hbm_row *stack_of(struct stacks *stacks, int64_t device, int64_t hbm,
                                    const char *instance)
{
    for (size_t i = 0; i < stacks->count; i++) {
        struct ntk_hbm_row *row = &stacks->rows[i];
        if (row->device == device && row->hbm == hbm && strcmp(row->instance, instance) == 0) {
            return row;
        }
    }
    if (stacks->count == STACKS_MAX) {
        return NULL;
    }
    struct ntk_hbm_row *row = &stacks->rows[stacks->count++];
    *row = (struct ntk_hbm_row){ .device = device, .hbm = hbm, .instance = instance };
    return row;
}

/* Returns the device of the logical core; absent for an unknown machine. */
static int64_t device_of(const struct ntk_system_trace *trace, uint32_t worker)
{
    struct ntk_chip chip;

    return trace->info && ntk_chip_find(trace->info->instance_type, &chip)
               ? (int64_t)((uint64_t)worker * (trace->info->lnc ? trace->info->lnc : 1) /
                           chip.device_cores)
               : NTK_ABSENT_I64;
}

/* An allocation or free, as an item of the sorter. */
struct change {
    int64_t time_ns;
    uint64_t order; /* order within one moment */
    uint64_t folder, span;
};
#define CHANGES_BYTES ((size_t)16 << 20) /* memory per list; longer lists are stored in a file */

NTK_ORDER(compare_changes, struct change, NTK_UP(order));

static bool is_free(const struct ntk_system_span *span)
{
    return strcmp(span->type, "nrt_dma_mem_dealloc") == 0;
}

/* Returns true for a change of the contents; in the vendor's files a change of an account takes
 * effect at its end. */
static bool change_is(const struct ntk_system_trace *trace, const struct ntk_system_span *span,
                      uint64_t *out_time_ns)
{
    const struct ntk_system_memory *memory = ntk_system_span_memory(trace, span);

    *out_time_ns = memory ? memory->time_ns : span->start_ns;
    if (trace->is_part && *out_time_ns >= trace->end_ns) {
        return false;
    }
    return (is_free(span) || strcmp(span->type, "nrt_dma_mem_alloc") == 0) &&
           (!memory ||
            (memory->account != NTK_SYSTEM_NO_ACCOUNT && !ntk_system_memory_failed(memory)));
}

static int find_changes(const struct ntk_export *export, struct ntk_sorter *changes)
{
    uint64_t count = 0;

    for (size_t f = 0; f < export->folder_count; f++) {
        const struct ntk_system_trace *trace = export->folders[f].trace;
        for (size_t i = 0; i < trace->span_count; i++) {
            uint64_t time_ns = 0;
            if (change_is(trace, &trace->spans[i], &time_ns)) {
                struct change *change = ntk_sorter_add(changes);
                if (!change) {
                    return changes->failed;
                }
                *change = (struct change){ ntk_rows_i64(time_ns), count++, f, i };
            }
            ntk_system_trace_passed(trace, i);
        }
    }
    return 0;
}

static void row_add(struct ntk_hbm_row *row, enum ntk_hbm_type type, uint64_t bytes)
{
    int64_t more = ntk_rows_i64(bytes);

    more = more > INT64_MAX - row->total_bytes ? INT64_MAX - row->total_bytes : more;
    row->type_bytes[type] += more;
    row->total_bytes += more;
}

/* Adds the contents from before the start of the traces. */
static void add_bases(struct stacks *stacks, const struct ntk_system_trace *trace)
{
    ntk_vec_each(const struct ntk_system_account, account, &trace->accounts) {
        struct ntk_hbm_row *row =
            stack_of(stacks, account->device, account->hbm, ntk_rows_system_instance(trace));
        uint64_t unknown = account->base_bytes;

        for (size_t u = 0; row && u < account->usage_count; u++) {
            uint64_t bytes =
                account->usages[u].base_bytes < unknown ? account->usages[u].base_bytes : unknown;
            row_add(row, ntk_memory_use_type(account->usages[u].usage), bytes);
            unknown -= bytes;
        }
        if (row) {
            row_add(row, NTK_HBM_UNKNOWN, unknown);
        }
    }
}

static int put_change(struct stacks *stacks, const struct ntk_system_trace *trace,
                      const struct change *change, ntk_row_put *put, void *ctx)
{
    const struct ntk_system_span *span = &trace->spans[change->span];
    const struct ntk_system_memory *memory = ntk_system_span_memory(trace, span);
    struct ntk_hbm_row *row =
        stack_of(stacks, memory ? memory->device : device_of(trace, span->worker), span->stack,
                 ntk_rows_system_instance(trace));

    if (!row) {
        return 0;
    }
    enum ntk_hbm_type type = ntk_memory_use_type(span->name);
    if (is_free(span)) { /* its allocation precedes the trace */
        int64_t less = ntk_rows_i64(span->bytes);

        less = less < row->type_bytes[type] ? less : row->type_bytes[type];
        row->type_bytes[type] -= less;
        row->total_bytes -= less;
    } else {
        row_add(row, type, span->bytes);
    }
    row->time_ns = change->time_ns;
    return put(ctx, row);
}

int ntk_rows_system_hbm(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    struct stacks *stacks = calloc(1, sizeof *stacks);
    struct ntk_sorted sorted = { 0 };
    struct ntk_sorter changes;

    ntk_sorter_init(&changes, sizeof(struct change), compare_changes, CHANGES_BYTES,
                    ntk_fs_temporary_folder());
    int ret = stacks ? find_changes(export, &changes) : -ENOMEM;
    ret = ret < 0 ? ret : ntk_sorter_finish(&changes, CHANGES_BYTES, &sorted, NULL);
    for (size_t f = 0; f < export->folder_count && ret == 0; f++) {
        add_bases(stacks, export->folders[f].trace);
    }
    const struct change *all = sorted.items;
    for (size_t i = 0; i < sorted.count && ret == 0; i++) {
        const struct ntk_system_trace *trace = export->folders[all[i].folder].trace;
        ret = put_change(stacks, trace, &all[i], put, ctx);
        ntk_system_trace_passed(trace, i);
    }
    ntk_sorted_fini(&sorted, sizeof(struct change));
    ntk_sorter_fini(&changes);
    free(stacks);
    return ret;
}

void ntk_rows_hbm_name(const struct ntk_hbm_row *row, char *buf, size_t buf_bytes)
{
    if (row->device == NTK_ABSENT_I64) {
        (void)snprintf(buf, buf_bytes, "HBM %" PRId64, row->hbm);
    } else {
        (void)snprintf(buf, buf_bytes, "HBM %" PRId64 ":%" PRId64, row->device, row->hbm);
    }
}
