/* SPDX-License-Identifier: MIT */
/* kernel_search - the searches of kernel_select.h: values and their positions, the largest values
 * of a group. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/engine/kernel_select_private.h"

/* --- places of values ------------------------------------------------------------------------- */

/* The partition of the core that contains row p of source 0. */
static unsigned physical(const struct ntk_select_work *w, uint32_t p)
{
    const struct ntk_isa_operand *operand = &w->instr->operand[NTK_ISA_SRC0];

    return operand->partition_start + p * operand->partition_step;
}

bool ntk_select_match_value_load(const struct ntk_select_work *w, uint32_t p)
{
    ntk_tile_read_f32(w->a, p, w->latches->match[physical(w, p)]);
    return false;
}

/* Finds the positions of eight values: for the k-th request of a value, its k-th position; -1 if
 * there is none. */
static void find8(const struct ntk_select_work *w, uint32_t p, int64_t places[NTK_SELECT_TOP])
{
    ntk_tile_read_f32(w->a, p, w->x);
    if (w->b->base) {
        ntk_tile_read_f32(w->b, p, w->y);
    } else {
        memcpy(w->y, w->latches->match[physical(w, p)], sizeof w->latches->match[0]);
    }
    for (uint32_t v = 0; v < NTK_SELECT_TOP; v++) {
        uint32_t skip = 0;

        for (uint32_t earlier = 0; earlier < v; earlier++) {
            skip += w->y[earlier] == w->y[v];
        }
        places[v] = -1;
        for (uint32_t i = 0; i < w->a->elements; i++) {
            if (w->x[i] == w->y[v] && skip-- == 0) {
                places[v] = i;
                break;
            }
        }
    }
}

bool ntk_select_find_index8(const struct ntk_select_work *w, uint32_t p)
{
    int64_t places[NTK_SELECT_TOP];

    find8(w, p, places);
    for (uint32_t v = 0; v < NTK_SELECT_TOP; v++) {
        places[v] = places[v] < 0 ? UINT32_MAX : places[v];
    }
    ntk_tile_write_i64(w->to, p, places);
    return false;
}

bool ntk_select_match_replace8(const struct ntk_select_work *w, uint32_t p)
{
    int64_t places[NTK_SELECT_TOP];

    find8(w, p, places);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        w->out[i] = w->x[i];
    }
    for (uint32_t v = 0; v < NTK_SELECT_TOP; v++) {
        if (places[v] >= 0) {
            w->out[places[v]] = ntk_isa_bits_float(w->instr->imm[0]);
        } else {
            places[v] = UINT32_MAX;
        }
    }
    if (w->second->base) {
        ntk_tile_write_i64(w->second, p, places);
    }
    return ntk_tile_write_f32(w->to, p, w->out);
}

bool ntk_select_nonzero_with_count(const struct ntk_select_work *w, uint32_t p)
{
    uint32_t n = w->a->elements;
    uint32_t found = 0;

    ntk_tile_read_f32(w->a, p, w->x);
    for (uint32_t i = 0; i < n; i++) {
        if (w->x[i] != 0) {
            w->map[found++] = (int64_t)i + (int32_t)w->instr->imm[0];
        }
    }
    w->map[n] = found;
    for (uint32_t i = found; i < n; i++) {
        w->map[i] = (int32_t)w->instr->imm[1];
    }
    ntk_tile_write_i64(w->to, p, w->map);
    return false;
}

/* For each element, finds the start and end of its run of equal ids. */
bool ntk_select_sequence_bounds(const struct ntk_select_work *w, uint32_t p)
{
    uint32_t n = w->a->elements;

    ntk_tile_read_f32(w->a, p, w->x);
    for (uint32_t i = 0; i < n;) {
        uint32_t end = i + 1;

        while (end < n && w->x[end] == w->x[i]) {
            end++;
        }
        for (uint32_t k = i; k < end; k++) {
            bool is_padding = w->x[k] == 0;

            w->map[k] = is_padding ? (int64_t)n : (int64_t)i;
            w->map[n + k] = is_padding ? -1 : (int64_t)end;
        }
        i = end;
    }
    ntk_tile_write_i64(w->to, p, w->map);
    return false;
}

/* --- the largest values of a group
 * -------------------------------------------------------------- */

struct candidate {
    float value;
    uint32_t place;
};

/* Sorts in descending order; NaN before all numbers; of equal values, the first. */
static int compare(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;

    if (isnan(a->value) != isnan(b->value)) {
        return isnan(a->value) ? -1 : 1;
    }
    if (a->value != b->value && !isnan(a->value)) {
        return a->value > b->value ? -1 : 1;
    }
    return a->place < b->place ? -1 : 1;
}

/* The position in a list that winds through 16 partitions: down the first column, up the second. */
static uint32_t snake(uint32_t lane, uint32_t column)
{
    return column * NTK_SELECT_GROUP + (column % 2 == 0 ? lane : NTK_SELECT_GROUP - 1 - lane);
}

bool ntk_select_topk(const struct ntk_select_work *w)
{
    struct candidate *list = (void *)w->map;
    uint32_t k = w->instr->imm[0];
    uint32_t n = w->instr->imm[1];
    bool nan = false;

    for (uint32_t first = 0; first < w->a->partitions; first += NTK_SELECT_GROUP) {
        for (uint32_t lane = 0; lane < NTK_SELECT_GROUP; lane++) {
            ntk_tile_read_f32(w->a, first + lane, w->x);
            for (uint32_t c = 0; c < w->a->elements; c++) {
                uint32_t place = snake(lane, c);

                if (place < n) {
                    list[place] = (struct candidate){ w->x[c], place };
                }
            }
        }
        qsort(list, n, sizeof *list, compare);
        for (uint32_t lane = 0; lane < NTK_SELECT_GROUP; lane++) {
            int64_t *places = (void *)w->y;

            ntk_tile_read_f32(w->to, first + lane, w->out);
            ntk_tile_read_i64(w->second, first + lane, places);
            for (uint32_t c = 0; c < w->to->elements; c++) {
                uint32_t rank = snake(lane, c);

                if (rank < k) {
                    w->out[c] = list[rank].value;
                    places[c] = list[rank].place;
                }
            }
            nan |= ntk_tile_write_f32(w->to, first + lane, w->out);
            ntk_tile_write_i64(w->second, first + lane, places);
        }
    }
    return nan;
}
