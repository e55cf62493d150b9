/* SPDX-License-Identifier: MIT */
/* predecessors - finds predecessors with rows sorted by instruction. */
#include "profiler/output/tables/predecessors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "profiler/trace/spill.h"
#include "shared/base/buf.h"

struct ntk_predecessors {
    const struct ntk_neff_debug *names;
    int64_t first_id;
    uint64_t *ends; /* end in rows, by instruction of names */
    uint32_t *rows;
    struct ntk_spill spill;
    /* text for the instruction below, because in loops its rows are adjacent */
    struct ntk_buf text;
    const struct ntk_neff_debug_instruction *of;
    bool has_text;
};

static uint64_t *count_rows(const struct ntk_export *export, size_t core_index)
{
    const struct ntk_neff_debug *names = export->program->names[core_index];
    const struct ntk_trace_core *core = &export->trace->cores[core_index];
    uint64_t *counts = calloc(names->instruction_count + 1, sizeof *counts);

    if (!counts) {
        return NULL;
    }
    ntk_trace_each_instruction(core, from) {
        const struct ntk_slot_fact *fact = ntk_program_fact(export->program, core_index, from);
        if (fact->named) {
            counts[fact->named - names->instructions]++;
        }
    }
    return counts;
}

int ntk_predecessors_create(const struct ntk_export *export, size_t core_index,
                            struct ntk_predecessors **out_predecessors)
{
    const struct ntk_trace_core *core = &export->trace->cores[core_index];
    struct ntk_predecessors *p = calloc(1, sizeof *p);

    if (!p) {
        return -ENOMEM;
    }
    p->names = export->program->names[core_index];
    p->first_id = export->cores[core_index].first_instruction_id;
    ntk_spill_init(&p->spill, ntk_trace_list_bytes_get(export->trace),
                   ntk_trace_folder_get(export->trace));
    p->ends = count_rows(export, core_index);
    p->rows = p->ends ? ntk_spill_take(&p->spill, core->instruction_count, sizeof *p->rows) : NULL;
    if (!p->rows) {
        int ret = p->ends && p->spill.failed ? p->spill.failed : -ENOMEM;
        ntk_predecessors_destroy(p);
        return ret;
    }
    /* First counts starts, which filling advances to ends. */
    uint64_t before = 0;
    for (size_t i = 0; i < p->names->instruction_count; i++) {
        uint64_t count = p->ends[i];
        p->ends[i] = before;
        before += count;
    }
    ntk_trace_each_instruction(core, from) {
        const struct ntk_slot_fact *fact = ntk_program_fact(export->program, core_index, from);
        if (fact->named) {
            p->rows[p->ends[fact->named - p->names->instructions]++] =
                (uint32_t)(from - core->instructions);
        }
    }
    *out_predecessors = p;
    return 0;
}

void ntk_predecessors_destroy(struct ntk_predecessors *predecessors)
{
    if (!predecessors) {
        return;
    }
    ntk_spill_fini(&predecessors->spill);
    ntk_buf_fini(&predecessors->text);
    free(predecessors->ends);
    free(predecessors);
}

static void put_type(struct ntk_buf *text, uint64_t kind)
{
    const char *name = ntk_neff_predecessor_kind_name(kind);

    if (name) {
        ntk_buf_add_text(text, name);
    } else if (kind) {
        ntk_buf_add_format(text, "%" PRIu64, kind);
    } else {
        ntk_buf_add_text(text, "UNKNOWN");
    }
}

/* Adds predecessors to the list; returns false if it would exceed NTK_PREDECESSORS_MAX. */
static bool put_rows(struct ntk_predecessors *p, const struct ntk_neff_predecessor *predecessor,
                     unsigned *count)
{
    const struct ntk_neff_debug_instruction *one =
        ntk_neff_debug_find(p->names, predecessor->bir_id);

    if (!one) {
        return true;
    }
    size_t index = (size_t)(one - p->names->instructions);
    for (uint64_t r = index ? p->ends[index - 1] : 0; r < p->ends[index]; r++) {
        if (++*count > NTK_PREDECESSORS_MAX) {
            return false;
        }
        ntk_buf_add_text(&p->text, *count > 1 ? ",{\"id\":" : "[{\"id\":");
        ntk_buf_add_i64(&p->text, p->first_id + p->rows[r]);
        ntk_buf_add_text(&p->text, ",\"type\":\"");
        put_type(&p->text, predecessor->kind);
        ntk_buf_add_text(&p->text, "\"}");
    }
    return true;
}

int ntk_predecessors_get(struct ntk_predecessors *predecessors, const struct ntk_slot_fact *fact,
                         const char **out_json)
{
    struct ntk_predecessors *p = predecessors;

    *out_json = NULL;
    if (!fact->named) {
        return 0;
    }
    if (p->of != fact->named) {
        const struct ntk_neff_predecessor *list =
            p->names->predecessors + fact->named->predecessor_first;
        unsigned count = 0;
        bool is_whole = true;
        ntk_buf_reset(&p->text);
        p->of = fact->named;
        for (size_t i = 0; i < fact->named->predecessor_count && is_whole; i++) {
            is_whole = put_rows(p, &list[i], &count);
        }
        p->has_text = count && is_whole;
        ntk_buf_add_char(&p->text, ']');
    }
    if (!ntk_buf_ok(&p->text)) {
        return -ENOMEM;
    }
    *out_json = p->has_text ? ntk_buf_text_get(&p->text) : NULL;
    return 0;
}

int ntk_predecessors_each(struct ntk_predecessors *predecessors, const struct ntk_slot_fact *fact,
                          ntk_predecessors_put *put, void *ctx)
{
    const struct ntk_predecessors *p = predecessors;
    const char *json;
    int ret = ntk_predecessors_get(predecessors, fact, &json);

    for (size_t i = 0; ret == 0 && json && i < fact->named->predecessor_count; i++) {
        const struct ntk_neff_predecessor *by =
            &p->names->predecessors[fact->named->predecessor_first + i];
        const struct ntk_neff_debug_instruction *one = ntk_neff_debug_find(p->names, by->bir_id);
        size_t index = one ? (size_t)(one - p->names->instructions) : 0;
        for (uint64_t r = index ? p->ends[index - 1] : 0; one && r < p->ends[index] && ret == 0;
             r++) {
            ret = put(ctx, p->rows[r], by->kind);
        }
    }
    return ret;
}

void ntk_predecessors_print(const struct ntk_neff_debug *names,
                            const struct ntk_neff_debug_instruction *one, struct ntk_buf *text)
{
    size_t count = one->predecessor_count;

    for (size_t i = 0; i < count && i < NTK_PREDECESSORS_NAMED_MAX; i++) {
        const struct ntk_neff_predecessor *by = &names->predecessors[one->predecessor_first + i];
        const struct ntk_neff_debug_instruction *named = ntk_neff_debug_find(names, by->bir_id);
        ntk_buf_add_text(text, i ? ", " : "");
        if (named && named->name[0]) {
            ntk_buf_add_text(text, named->name);
        } else {
            ntk_buf_add_format(text, "%" PRIu64, by->bir_id);
        }
        ntk_buf_add_text(text, " (");
        put_type(text, by->kind);
        ntk_buf_add_text(text, ")");
    }
    if (count > NTK_PREDECESSORS_NAMED_MAX) {
        ntk_buf_add_format(text, " and %zu more", count - NTK_PREDECESSORS_NAMED_MAX);
    }
}

static uint64_t omitted_of(const struct ntk_neff_debug *names, const uint64_t *counts)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < names->instruction_count; i++) {
        const struct ntk_neff_debug_instruction *one = &names->instructions[i];
        uint64_t sum = 0;
        for (size_t k = 0; counts[i] && k < one->predecessor_count; k++) {
            const struct ntk_neff_debug_instruction *by =
                ntk_neff_debug_find(names, names->predecessors[one->predecessor_first + k].bir_id);
            sum += by ? counts[by - names->instructions] : 0;
        }
        rows += sum > NTK_PREDECESSORS_MAX ? counts[i] : 0;
    }
    return rows;
}

uint64_t ntk_predecessors_omitted(const struct ntk_export *export)
{
    uint64_t rows = 0;

    for (size_t c = 0; c < export->trace->core_count; c++) {
        uint64_t *counts = export->program->names[c] ? count_rows(export, c) : NULL;
        rows += counts ? omitted_of(export->program->names[c], counts) : 0;
        free(counts);
    }
    return rows;
}
