/* SPDX-License-Identifier: MIT */
/* rows_error - creates rows for errors of the device as recorded by this project's core; records of
 * hardware errors are unknown. */
#include <stdio.h>

#include "profiler/output/tables/rows.h"
#include "shared/base/str.h"

#define RECORD_BYTES 16

static int put_error(const struct ntk_trace *trace, const struct ntk_trace_core *core,
                     const struct ntk_ntff_section *section, uint64_t index,
                     struct ntk_error_row *row, ntk_row_put *put, void *ctx)
{
    const uint8_t *bytes = section->records + index * RECORD_BYTES;
    struct ntk_ntff_record record;
    char metadata[48];
    char hex[2 * RECORD_BYTES + 1];
    int64_t since_ps;

    ntk_ntff_record_get(core->ntff, section, index, &record);
    if (record.kind != NTK_NTFF_RECORD_ERROR ||
        __builtin_sub_overflow(record.time_ps, core->t0_ps, &since_ps) ||
        !ntk_trace_has_moment(trace, since_ps)) {
        return 0;
    }
    if (record.slot == NTK_NTFF_SLOT_OUTSIDE) {
        (void)snprintf(metadata, sizeof metadata, "%s",
                       record.engine < NTK_NTFF_ENGINE_COUNT ? ntk_ntff_engine_name(record.engine)
                                                             : "dma");
    } else {
        (void)snprintf(metadata, sizeof metadata, "%s, pc %u", ntk_ntff_engine_name(record.engine),
                       record.slot);
    }
    ntk_str_hex(hex, bytes, RECORD_BYTES);
    row->time_ns = ntk_rows_ns(since_ps);
    row->type_id = record.error;
    row->description = ntk_ntff_error_name(record.error);
    row->type = "Errors";
    row->metadata = metadata;
    row->metadata_hex = hex;
    return put(ctx, row);
}

int ntk_rows_errors(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    int ret = 0;

    for (size_t c = 0; c < export->trace->core_count; c++) {
        const struct ntk_trace_core *core = &export->trace->cores[c];
        struct ntk_error_row row = { .core_index =
                                         (int64_t)ntk_trace_core_number(export->trace, c) };
        for (size_t s = 0; s < core->ntff->section_count; s++) {
            const struct ntk_ntff_section *section = &core->ntff->sections[s];
            bool is_errors =
                section->type == NTK_NTFF_SECTION_ERROR && section->block == NTK_NTFF_BLOCK_CORE;
            for (uint64_t i = 0; is_errors && i < section->record_count && ret == 0; i++) {
                ret = put_error(export->trace, core, section, i, &row, put, ctx);
            }
        }
    }
    return ret;
}
