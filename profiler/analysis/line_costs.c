/* SPDX-License-Identifier: MIT */
#include "profiler/analysis/line_costs.h"

#include "shared/base/buf.h"
#include "shared/base/str.h"

/* Returns 2 + the index of a line; 1 for no line; 0 if out of memory. */
static uintptr_t number_of(struct ntk_line_costs *costs, const struct ntk_neff_position *at)
{
    if (!at || !at->file) {
        return 1;
    }
    uint64_t key = (uint64_t)at->file << 32 | at->line;
    uintptr_t number = (uintptr_t)ntk_map_get_number(&costs->numbers, key);

    if (!number && ntk_map_put_number(&costs->numbers, key, (void *)(costs->line_count + 2)) == 0) {
        number = ++costs->line_count + 1;
    }
    return number;
}

void ntk_line_costs_add(struct ntk_line_costs *costs, const struct ntk_neff_position *at,
                        const struct ntk_neff_position *by, double cost)
{
    uintptr_t line = number_of(costs, at);
    uintptr_t by_line = number_of(costs, by);
    uint64_t key = (uint64_t)line << 32 | by_line;

    if (!line || !by_line || (line == 1 && by_line == 1)) {
        return;
    }
    uintptr_t index = (uintptr_t)ntk_map_get_number(&costs->by_pair, key);
    if (!index) {
        struct ntk_line_pair pair = { 0 };
        if (line > 1) {
            pair.file = at->file;
            pair.line = at->line;
        }
        if (by_line > 1) {
            pair.by_file = by->file;
            pair.by_line = by->line;
        }
        if (!costs->pairs.item_bytes) {
            ntk_vec_init(&costs->pairs, sizeof pair);
        }
        index = costs->pairs.count + 1;
        if (ntk_map_put_number(&costs->by_pair, key, (void *)index) < 0 ||
            ntk_vec_push(&costs->pairs, &pair) < 0) {
            return;
        }
    }
    if (index <= costs->pairs.count) {
        ((struct ntk_line_pair *)ntk_vec_at(&costs->pairs, index - 1))->cost += cost;
    }
}

const struct ntk_line_pair *ntk_line_costs_most(const struct ntk_line_costs *costs)
{
    const struct ntk_line_pair *most = NULL;

    ntk_vec_each(const struct ntk_line_pair, one, &costs->pairs) {
        most = !most || one->cost > most->cost ? one : most;
    }
    return most && most->cost > 0 ? most : NULL;
}

void ntk_line_costs_fini(struct ntk_line_costs *costs)
{
    ntk_vec_fini(&costs->pairs);
    ntk_map_fini(&costs->numbers);
    ntk_map_fini(&costs->by_pair);
    *costs = (struct ntk_line_costs){ 0 };
}

void ntk_line_name_add(const struct ntk_neff_positions *positions, uint32_t file, uint32_t line,
                       struct ntk_buf *out)
{
    ntk_buf_add_format(out, "%s:%u", ntk_str_base_name(positions->files.entries[file - 1].key),
                       line);
}
