/* SPDX-License-Identifier: MIT */
/* rows_error - creates rows for errors of the device as recorded by this project's core; records of
 * hardware errors are unknown. */
#include <stdio.h>

#include "profiler/analysis/device_errors.h"
#include "profiler/output/tables/rows.h"
#include "shared/base/str.h"

struct rows {
    const struct ntk_trace *trace;
    struct ntk_error_row row;
    ntk_row_put *put;
    void *ctx;
};

static int put_error(const struct ntk_device_error *error, void *ctx)
{
    const struct ntk_ntff_record *record = &error->record;
    struct rows *rows = ctx;
    struct ntk_error_row *row = &rows->row;
    char metadata[48];
    char hex[2 * NTK_DEVICE_ERROR_BYTES + 1];

    if (!error->is_known) {
        return 0;
    }
    if (record->slot == NTK_NTFF_SLOT_OUTSIDE) {
        (void)snprintf(metadata, sizeof metadata, "%s",
                       record->engine < NTK_NTFF_ENGINE_COUNT ? ntk_ntff_engine_name(record->engine)
                                                              : "dma");
    } else {
        (void)snprintf(metadata, sizeof metadata, "%s, pc %u", ntk_ntff_engine_name(record->engine),
                       record->slot);
    }
    ntk_str_hex(hex, error->bytes, NTK_DEVICE_ERROR_BYTES);
    row->core_index = (int64_t)ntk_trace_core_number(rows->trace, error->core);
    row->time_ns = ntk_rows_ns(error->since_ps);
    row->type_id = record->error;
    row->description = ntk_ntff_error_name(record->error);
    row->type = "Errors";
    row->metadata = metadata;
    row->metadata_hex = hex;
    return rows->put(rows->ctx, row);
}

int ntk_rows_errors(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    struct rows rows = { .trace = export->trace, .put = put, .ctx = ctx };

    return ntk_device_errors_each(export->trace, put_error, &rows);
}
