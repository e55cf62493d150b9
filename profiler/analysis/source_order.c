/* SPDX-License-Identifier: MIT */
/* source_order - sorts lines, loops and iterations, and returns their names. */
#include "profiler/analysis/source_lines_private.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/order.h"

const char *ntk_source_reason_name(enum ntk_source_reason reason)
{
    static const char *const names[] = { NULL, "runtime", "compiler", "no_debug_info" };

    return names[reason];
}

double ntk_source_loop_overlap(const struct ntk_source_loop *loop)
{
    int64_t span_ns = ntk_source_ns(loop->end_ps) - ntk_source_ns(loop->start_ps);

    return span_ns > 0 ? (double)loop->span_sum_ns / (double)span_ns : 0;
}

void ntk_source_values_add(const struct ntk_source_lines *lines, uint32_t iteration,
                           struct ntk_buf *out)
{
    uint32_t path[NTK_NEFF_KERNEL_DEPTH_MAX];
    size_t count = 0;

    for (uint32_t at = iteration + 1; at && count < NTK_NEFF_KERNEL_DEPTH_MAX;
         at = lines->iterations[at - 1].parent) {
        path[count++] = at - 1;
    }
    while (count > 0) {
        ntk_neff_iteration_value_add(lines->iterations[path[--count]].iteration, out);
        ntk_buf_add_text(out, count ? "," : "");
    }
}

int64_t ntk_source_sums_by(const struct ntk_source_sums *sums, enum ntk_source_order order)
{
    switch (order) {
    case NTK_SOURCE_BY_STALL:
        return sums->wait_ns;
    case NTK_SOURCE_BY_IDLE:
        return sums->idle_ps;
    case NTK_SOURCE_BY_TIME:
        return sums->duration_ns;
    case NTK_SOURCE_BY_BYTES:
        return ntk_ps_sum(sums->hbm_read_bytes, sums->hbm_write_bytes);
    default:
        return ntk_ps_sum(sums->wait_ns, sums->duration_ns);
    }
}

NTK_ORDER(compare_lines, struct ntk_source_line, NTK_UP(reason) NTK_DOWN(rank) NTK_UP(number));

/* Returns the new index of each line, by number; the caller frees it. NULL if out of memory. */
static uint32_t *sort_lines(struct ntk_source_lines *lines, enum ntk_source_order order)
{
    uint32_t *moved = malloc((lines->line_count + 1) * sizeof *moved);

    for (size_t i = 0; i < lines->line_count; i++) {
        lines->lines[i].rank = ntk_source_sums_by(&lines->lines[i].sums, order);
    }
    if (lines->line_count) {
        qsort(lines->lines, lines->line_count, sizeof *lines->lines, compare_lines);
    }
    for (size_t i = 0; moved && i < lines->line_count; i++) {
        moved[lines->lines[i].number] = (uint32_t)i;
    }
    return moved;
}

int ntk_source_lines_sort(struct ntk_source_lines *lines, enum ntk_source_order order)
{
    uint32_t *numbers = malloc((lines->line_count + 1) * sizeof *numbers);

    if (!numbers) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < lines->line_count; i++) {
        numbers[i] = lines->lines[i].number;
    }
    uint32_t *moved = sort_lines(lines, order);
    for (size_t i = 0; moved && i < lines->line_count; i++) {
        for (size_t b = 0; b < lines->lines[i].blocker_count; b++) {
            struct ntk_source_blocker *blocker = &lines->lines[i].blockers[b];
            if (blocker->kind == NTK_SOURCE_BLOCK_LINE) {
                blocker->line = moved[numbers[blocker->line]];
            }
        }
    }
    bool is_sorted = moved != NULL;
    free(numbers);
    free(moved);
    return is_sorted ? 0 : -ENOMEM;
}

int ntk_source_finish_lines(struct ntk_line_finder *f)
{
    struct ntk_source_lines *result = f->result;

    result->lines = f->lines.items;
    result->line_count = f->lines.count;
    uint32_t *moved = sort_lines(result, NTK_SOURCE_BY_COST);
    if (!moved) {
        return -ENOMEM;
    }
    ntk_source_waits_give(f, moved);
    free(moved);
    return 0;
}

NTK_ORDER(compare_paths, struct ntk_source_iteration,
          NTK_UP(loop) NTK_UP(start_ps) NTK_UP(iteration));

int ntk_source_finish_paths(struct ntk_line_finder *f)
{
    struct ntk_source_lines *result = f->result;
    const struct ntk_neff_iteration *nodes =
        f->positions ? f->positions->kernel.iterations.items : NULL;
    uint32_t *moved = malloc((f->paths.count + 1) * sizeof *moved);

    if (!moved) {
        return -ENOMEM;
    }
    ntk_vec_sort(&f->paths, compare_paths);
    result->iterations = f->paths.items;
    result->iteration_count = f->paths.count;
    for (size_t i = 0; i < result->iteration_count; i++) {
        moved[f->nodes[result->iterations[i].iteration - nodes] - 1] = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < result->iteration_count; i++) {
        struct ntk_source_iteration *one = &result->iterations[i];
        struct ntk_source_loop *loop = &result->loops[one->loop];
        int64_t span_ns = ntk_source_ns(one->end_ps) - ntk_source_ns(one->start_ps);

        one->parent = one->parent ? moved[one->parent - 1] : 0;
        if (!loop->iteration_count++ || span_ns > loop->span_max_ns) {
            loop->span_max_ns = span_ns;
            loop->slowest = (uint32_t)i;
        }
        loop->span_sum_ns = ntk_ps_sum(loop->span_sum_ns, span_ns);
    }
    free(moved);
    return 0;
}
