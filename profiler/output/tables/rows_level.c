/* SPDX-License-Identifier: MIT */
/*
 * rows_level - creates rows for costs by compiler level: an instruction of the back end (BIR) or
 * the middle end (Penguin), an operation of XLA or of the framework; each with all rows that
 * executed it.
 */
#include "profiler/output/tables/rows.h"

#include <errno.h>

#include "profiler/output/tables/level_sums.h"
#include "shared/base/map.h"

enum level { LEVEL_BIR, LEVEL_PENGUIN, LEVEL_HLO, LEVEL_FRAMEWORK };

struct entry {
    const struct ntk_slot_fact *fact; /* fact of its first row */
    struct ntk_level_sums sums;
};

struct levels {
    struct ntk_map indices; /* maps id + 1 to index + 1 */
    struct ntk_vec entries; /* elements are struct entry, by their first row */
};

/* Returns the id of the object to which an instruction belongs; false if there is none. */
static bool id_of(enum level level, const struct ntk_slot_fact *fact, uint64_t *out_id)
{
    bool has_penguin = fact->named && fact->named->has_penguin;
    bool has_framework = fact->hlo && fact->hlo->has_framework;

    switch (level) {
    case LEVEL_BIR:
        *out_id = fact->bir_id;
        return fact->has_bir_id;
    case LEVEL_PENGUIN:
        *out_id = has_penguin ? fact->named->penguin_id : 0;
        return has_penguin;
    case LEVEL_HLO:
        *out_id = fact->hlo ? fact->hlo->id : 0;
        return fact->hlo != NULL;
    default:
        *out_id = has_framework ? fact->hlo->framework_id : 0;
        return has_framework;
    }
}

static const char *name_of(enum level level, const struct ntk_slot_fact *fact)
{
    const char *name = level == LEVEL_BIR       ? fact->named ? fact->named->name : NULL
                       : level == LEVEL_PENGUIN ? fact->named->penguin_text
                       : level == LEVEL_HLO     ? fact->hlo->text
                                                : fact->hlo->framework;

    return name ? name : "";
}

static struct entry *entry_of(struct levels *levels, uint64_t id, const struct ntk_slot_fact *fact)
{
    uintptr_t number = (uintptr_t)ntk_map_get_number(&levels->indices, id + 1);

    if (number) {
        return ntk_vec_at(&levels->entries, number - 1);
    }
    struct entry *added = ntk_vec_add(&levels->entries);
    if (!added || ntk_map_put_number(&levels->indices, id + 1,
                                     (void *)(uintptr_t)levels->entries.count) < 0) {
        return NULL;
    }
    *added = (struct entry){ .fact = fact };
    return added;
}

static int find_entries(const struct ntk_export *export, size_t core_index, enum level level,
                        struct levels *levels)
{
    ntk_trace_each_instruction(&export->trace->cores[core_index], row) {
        const struct ntk_slot_fact *fact = ntk_program_fact(export->program, core_index, row);
        uint64_t id;

        if (id_of(level, fact, &id)) {
            struct entry *entry = entry_of(levels, id, fact);
            if (!entry || ntk_level_sums_add(&entry->sums, export->trace, fact, row) < 0) {
                return -ENOMEM;
            }
        }
    }
    return 0;
}

static int put_entries(const struct ntk_export *export, size_t core_index, enum level level,
                       struct levels *levels, ntk_row_put *put, void *ctx)
{
    uint64_t subgraph = (uint64_t) export->program->names[core_index]->subgraph
                        << NTK_NEFF_DEBUG_ID_BITS;
    struct ntk_level_texts texts = { 0 };
    int ret = 0;

    ntk_vec_each(const struct entry, entry, &levels->entries) {
        const struct ntk_level_sums *sums = &entry->sums;
        const struct ntk_level_interval *first = sums->intervals.items;
        int64_t ids[LEVEL_FRAMEWORK + 1];

        for (unsigned l = 0; l <= LEVEL_FRAMEWORK; l++) {
            uint64_t id;
            ids[l] = id_of((enum level)l, entry->fact, &id) ? ntk_rows_i64(subgraph | id) : 0;
        }
        ret = ntk_level_texts_fill(&texts, sums);
        if (ret < 0) {
            break;
        }
        struct ntk_level_row row = {
            .id = ids[level],
            .raw_bir_id = ids[LEVEL_BIR],
            .raw_penguin_id = ids[LEVEL_PENGUIN],
            .raw_hlo_id = ids[LEVEL_HLO],
            .raw_framework_id = ids[LEVEL_FRAMEWORK],
            .name = name_of(level, entry->fact),
            .core_index = (int64_t)ntk_trace_core_number(export->trace, core_index),
            .start_ns = ntk_rows_ns(first->start_ps),
            .end_ns = ntk_rows_ns(sums->end_ps),
            .intervals = ntk_buf_text_get(&texts.lists[NTK_LEVEL_TIMES]),
            .elements = ntk_buf_text_get(&texts.lists[NTK_LEVEL_ELEMENTS]),
            .transposed = ntk_buf_text_get(&texts.lists[NTK_LEVEL_TRANSPOSED]),
            .hbm_bytes = ntk_buf_text_get(&texts.lists[NTK_LEVEL_HBM]),
            .hbm_read_bytes = ntk_rows_i64(sums->hbm_read_bytes),
            .hbm_write_bytes = ntk_rows_i64(sums->hbm_write_bytes),
            .sbuf_read_bytes = ntk_rows_i64(sums->sbuf_read_bytes),
            .sbuf_write_bytes = ntk_rows_i64(sums->sbuf_write_bytes),
            .weight_bytes = ntk_rows_i64(sums->weight_bytes),
        };
        for (size_t e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
            row.engine_counts[e] = sums->engine_counts[e];
        }
        ret = put(ctx, &row);
        if (ret < 0) {
            break;
        }
    }
    ntk_level_texts_fini(&texts);
    return ret;
}

static int put_level(const struct ntk_export *export, enum level level, ntk_row_put *put, void *ctx)
{
    int ret = 0;

    for (size_t c = 0; c < export->trace->core_count && ret == 0; c++) {
        struct levels levels = { .entries = NTK_VEC_INIT(struct entry) };

        if (!export->program->names[c]) {
            continue;
        }
        ret = find_entries(export, c, level, &levels);
        ret = ret ? ret : put_entries(export, c, level, &levels, put, ctx);
        ntk_vec_each(struct entry, entry, &levels.entries) {
            ntk_level_sums_fini(&entry->sums);
        }
        ntk_vec_fini(&levels.entries);
        ntk_map_fini(&levels.indices);
    }
    return ret;
}

int ntk_rows_bir_level(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    return put_level(export, LEVEL_BIR, put, ctx);
}

int ntk_rows_penguin_level(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    return put_level(export, LEVEL_PENGUIN, put, ctx);
}

int ntk_rows_hlo_level(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    return put_level(export, LEVEL_HLO, put, ctx);
}

int ntk_rows_framework_level(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    return put_level(export, LEVEL_FRAMEWORK, put, ctx);
}
