/* SPDX-License-Identifier: MIT */
#include "shared/hostwork/attribute_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/bisect.h"
#include "shared/base/order.h"
#include "shared/base/str.h"
#include "shared/hostwork/syscalls.h"

#define STEP_NAME "step"

struct sum {
    struct ntk_host_gap_sum of;
    struct ntk_host_piece first;
};

struct running {
    struct ntk_host_gap_sum of;
    uint32_t tid;
    uint64_t samples;
};

struct hit {
    uint32_t tid, stack;
    uint8_t cause;
    uint64_t samples;
    uint32_t gap_plus_one; /* the last gap with this key */
    uint32_t gap_count;
};

void ntk_host_rows_init(struct ntk_host_rows *rows, struct ntk_host_records *records,
                        struct ntk_host_result *result)
{
    memset(rows, 0, sizeof *rows);
    rows->records = records;
    rows->result = result;
    ntk_vec_init(&rows->sums, sizeof(struct sum));
    ntk_vec_init(&rows->running, sizeof(struct running));
    ntk_vec_init(&rows->hits, sizeof(struct hit));
    ntk_vec_init(&result->rows, sizeof(struct ntk_host_row));
    ntk_vec_init(&result->flames, sizeof(struct ntk_host_flame));
    ntk_vec_init(&result->steps, sizeof(struct ntk_host_step));
}

void ntk_host_rows_fini(struct ntk_host_rows *rows)
{
    ntk_map_fini(&rows->keys);
    ntk_map_fini(&rows->runners);
    ntk_map_fini(&rows->hit_keys);
    ntk_vec_fini(&rows->sums);
    ntk_vec_fini(&rows->running);
    ntk_vec_fini(&rows->hits);
}

static void add_time(struct ntk_host_gap_sum *sum, uint32_t gap, uint64_t ns)
{
    if (sum->gap_plus_one != gap + 1) {
        sum->gap_plus_one = gap + 1;
        sum->in_gap_ns = 0;
        sum->share.gap_count++;
    }
    sum->share.ns += ns;
    sum->in_gap_ns += ns;
    if (sum->in_gap_ns > sum->share.longest_ns) {
        sum->share.longest_ns = sum->in_gap_ns;
    }
}

/* The element for a key, added if it is new; NULL if out of memory. */
static void *element_of(struct ntk_map *map, struct ntk_vec *vec, const char *key, bool *out_is_new)
{
    size_t at = (size_t)(uintptr_t)ntk_map_get(map, key);
    void *element;

    *out_is_new = at == 0;
    if (at > 0) {
        return ntk_vec_at(vec, at - 1);
    }
    element = ntk_vec_add(vec);
    return element && ntk_map_put(map, key, (void *)(uintptr_t)vec->count) == 0 ? element : NULL;
}

static struct running *running_of(struct ntk_host_rows *rows, uint32_t tid)
{
    char key[16];
    bool is_new;

    (void)snprintf(key, sizeof key, "%u", tid);
    struct running *running = element_of(&rows->runners, &rows->running, key, &is_new);
    if (running) {
        running->tid = tid;
    }
    return running;
}

int ntk_host_rows_add(struct ntk_host_rows *rows, const struct ntk_host_piece *piece)
{
    uint64_t ns = piece->end_ns - piece->start_ns;
    char key[128];
    bool is_new;

    add_time(&rows->causes[piece->cause], piece->gap, ns);
    if (piece->cause == NTK_HOST_RUNNING) {
        struct running *running = running_of(rows, piece->tid);
        if (running) {
            add_time(&running->of, piece->gap, ns);
        }
        return running ? 0 : -ENOMEM;
    }
    (void)snprintf(key, sizeof key, "%u/%u/%u/%u/%p/%d", piece->cause, piece->tid, piece->holder,
                   piece->stack, (const void *)piece->object, piece->syscall);
    struct sum *sum = element_of(&rows->keys, &rows->sums, key, &is_new);
    if (!sum) {
        return -ENOMEM;
    }
    if (is_new) {
        sum->first = *piece;
    }
    add_time(&sum->of, piece->gap, ns);
    return 0;
}

int ntk_host_rows_hit(struct ntk_host_rows *rows, const struct ntk_host_sample *sample,
                      uint32_t gap)
{
    struct running *running = running_of(rows, sample->tid);
    char key[64];
    bool is_new;

    (void)snprintf(key, sizeof key, "%u/%u/%u", sample->tid, sample->stack, sample->cause);
    struct hit *hit = element_of(&rows->hit_keys, &rows->hits, key, &is_new);
    if (!running || !hit) {
        return -ENOMEM;
    }
    running->samples++;
    hit->tid = sample->tid;
    hit->stack = sample->stack;
    hit->cause = sample->cause;
    hit->samples++;
    if (hit->gap_plus_one != gap + 1) {
        hit->gap_plus_one = gap + 1;
        hit->gap_count++;
    }
    return 0;
}

/* ---- rows ---- */

/* Returns true if a function belongs to the C library or the loader; the caller of these functions
 * is more useful. */
static bool is_wrapper(const struct ntk_host_frame *frame)
{
    return ntk_str_starts_with(frame->module, "libc.so") ||
           ntk_str_starts_with(frame->module, "libc-") ||
           ntk_str_starts_with(frame->module, "libpthread") ||
           ntk_str_starts_with(frame->module, "ld-linux") || strcmp(frame->module, "[vdso]") == 0;
}

const struct ntk_host_frame *ntk_host_stacks_function(const struct ntk_host_stacks *stacks,
                                                      uint32_t stack, bool is_running)
{
    const struct ntk_host_frame *best = NULL;
    const struct ntk_host_frame *any = NULL;

    for (const struct ntk_host_frame *frame = ntk_host_stacks_at(stacks, stack); frame;
         frame = ntk_host_stacks_at(stacks, frame->parent)) {
        if (frame->language == NTK_HOST_PYTHON) {
            return frame;
        }
        if (frame->language == NTK_HOST_NATIVE) {
            any = any ? any : frame;
            best = best || (!is_running && is_wrapper(frame)) ? best : frame;
        }
    }
    return best ? best : any;
}

static int put_row(struct ntk_host_rows *rows, struct ntk_map *merged,
                   const struct ntk_host_row *row)
{
    const struct ntk_host_frame *function = ntk_host_stacks_function(
        &rows->records->stacks, row->stack, row->cause == NTK_HOST_RUNNING);
    struct ntk_host_flame flame = { row->stack, row->tid, row->cause, row->share.ns };
    const char *name = function ? function->name : "";
    const char *module = function ? function->module : "";
    char key[160];
    bool is_new;

    (void)snprintf(key, sizeof key, "%d/%u/%u/%p/%p/%p/%p", (int)row->cause, row->tid, row->holder,
                   (const void *)name, (const void *)module, (const void *)row->object,
                   (const void *)row->syscall);
    struct ntk_host_row *to = element_of(merged, &rows->result->rows, key, &is_new);
    if (!to || ntk_vec_push(&rows->result->flames, &flame) < 0) {
        return -ENOMEM;
    }
    if (is_new) {
        *to = *row;
        to->function = name;
        to->module = module;
        return 0;
    }
    to->share.ns += row->share.ns;
    to->share.gap_count += row->share.gap_count;
    if (row->share.longest_ns > to->share.longest_ns) {
        to->share.longest_ns = row->share.longest_ns;
    }
    return 0;
}

static int put_sums(struct ntk_host_rows *rows, struct ntk_map *merged)
{
    int ret = 0;

    ntk_vec_each(const struct sum, sum, &rows->sums) {
        struct ntk_host_row row = { .share = sum->of.share,
                                    .cause = (enum ntk_host_cause)sum->first.cause,
                                    .tid = sum->first.tid,
                                    .holder = sum->first.holder,
                                    .object = sum->first.object,
                                    .syscall = ntk_host_syscall_name(sum->first.syscall),
                                    .stack = sum->first.stack };
        ret = ret < 0 ? ret : put_row(rows, merged, &row);
    }
    return ret;
}

/* Divides the running time of each thread in proportion to its samples. */
static int put_running(struct ntk_host_rows *rows, struct ntk_map *merged)
{
    struct ntk_host_share *causes = rows->result->causes;
    int ret = 0;

    ntk_vec_each(const struct hit, hit, &rows->hits) {
        const struct running *running = running_of(rows, hit->tid);
        double share = (double)hit->samples / (double)running->samples;
        uint64_t ns = (uint64_t)(share * (double)running->of.share.ns);
        uint64_t longest_ns = running->of.share.longest_ns;
        struct ntk_host_row row = { .share = { ns, hit->gap_count,
                                               longest_ns < ns ? longest_ns : ns },
                                    .cause = (enum ntk_host_cause)hit->cause,
                                    .tid = hit->tid,
                                    .stack = hit->stack };

        ret = ret < 0 ? ret : put_row(rows, merged, &row);
        if (hit->cause != NTK_HOST_RUNNING) {
            causes[NTK_HOST_RUNNING].ns -=
                ns < causes[NTK_HOST_RUNNING].ns ? ns : causes[NTK_HOST_RUNNING].ns;
            causes[hit->cause].ns += ns;
            causes[hit->cause].gap_count += hit->gap_count;
            if (row.share.longest_ns > causes[hit->cause].longest_ns) {
                causes[hit->cause].longest_ns = row.share.longest_ns;
            }
        }
    }
    ntk_vec_each(const struct running, running, &rows->running) {
        struct ntk_host_row row = { .share = running->of.share,
                                    .cause = NTK_HOST_RUNNING,
                                    .tid = running->tid };
        if (running->samples == 0 && running->of.share.ns > 0) {
            ret = ret < 0 ? ret : put_row(rows, merged, &row);
        }
    }
    return ret;
}

NTK_ORDER(compare_rows, struct ntk_host_row, NTK_DOWN(share.ns) NTK_UP(tid) NTK_UP(cause));

NTK_ORDER(compare_flames, struct ntk_host_flame, NTK_DOWN(ns) NTK_UP(stack) NTK_UP(cause));

/* ---- steps ---- */

NTK_ORDER(compare_marks, struct ntk_host_mark, NTK_UP(start_ns) NTK_UP(end_ns));

/* Finds the first step that ends after the time; steps do not overlap. */
static size_t step_at(const struct ntk_vec *steps, uint64_t time_ns)
{
    const struct ntk_host_step *all = steps->items;
    size_t low = 0;

    NTK_BISECT(low, steps->count, i, all[i].mark->end_ns <= time_ns);
    return low;
}

/* Nanoseconds of [start, end) inside the step. */
static uint64_t overlap_ns(const struct ntk_host_step *step, uint64_t start_ns, uint64_t end_ns)
{
    uint64_t from = step->mark->start_ns > start_ns ? step->mark->start_ns : start_ns;
    uint64_t to = step->mark->end_ns < end_ns ? step->mark->end_ns : end_ns;

    return from < to ? to - from : 0;
}

static void fill_steps(struct ntk_host_rows *rows)
{
    struct ntk_vec *steps = &rows->result->steps;

    ntk_vec_each(const struct ntk_host_gap, gap, &rows->records->gaps) {
        for (size_t i = step_at(steps, gap->start_ns); i < steps->count; i++) {
            struct ntk_host_step *step = ntk_vec_at(steps, i);
            uint64_t ns = overlap_ns(step, gap->start_ns, gap->end_ns);
            if (step->mark->start_ns >= gap->end_ns) {
                break;
            }
            step->idle_ns += ns;
            step->gap_count += ns > 0;
            step->longest_ns = ns > step->longest_ns ? ns : step->longest_ns;
        }
    }
    ntk_vec_each(const struct ntk_host_piece, piece, &rows->result->pieces) {
        for (size_t i = step_at(steps, piece->start_ns); i < steps->count; i++) {
            struct ntk_host_step *step = ntk_vec_at(steps, i);
            if (step->mark->start_ns >= piece->end_ns) {
                break;
            }
            step->cause_ns[piece->cause] += overlap_ns(step, piece->start_ns, piece->end_ns);
        }
    }
}

/* Adds the ranges called "step"; one that begins before the end of the previous one is skipped. */
static int put_steps(struct ntk_host_rows *rows)
{
    uint64_t end_ns = 0;

    ntk_vec_sort(&rows->records->marks, compare_marks);
    ntk_vec_each(const struct ntk_host_mark, mark, &rows->records->marks) {
        if (strcmp(mark->name, STEP_NAME) != 0 || mark->start_ns < end_ns ||
            mark->end_ns <= mark->start_ns) {
            continue;
        }
        struct ntk_host_step *step = ntk_vec_add(&rows->result->steps);
        if (!step) {
            return -ENOMEM;
        }
        step->mark = mark;
        end_ns = mark->end_ns;
    }
    fill_steps(rows);
    return 0;
}

int ntk_host_rows_finish(struct ntk_host_rows *rows)
{
    struct ntk_map merged = { 0 };

    for (size_t i = 0; i < NTK_HOST_CAUSE_COUNT; i++) {
        rows->result->causes[i] = rows->causes[i].share;
    }
    int ret = put_sums(rows, &merged);
    ret = ret < 0 ? ret : put_running(rows, &merged);
    ret = ret < 0 ? ret : put_steps(rows);
    ntk_map_fini(&merged);
    ntk_vec_sort(&rows->result->rows, compare_rows);
    ntk_vec_sort(&rows->result->flames, compare_flames);
    return ret;
}
