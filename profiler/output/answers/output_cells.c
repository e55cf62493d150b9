/* SPDX-License-Identifier: MIT */
/* output_cells - writes small formats used by analyses. */
#include "profiler/output/answers/output_cells.h"

#include <stdio.h>

#include "shared/base/units.h"

void ntk_cell_us(struct ntk_text_table *table, int64_t ps)
{
    ntk_text_table_format(table, "%.3f", (double)ps / 1e6);
}

void ntk_cell_share(struct ntk_text_table *table, double part, double whole)
{
    if (whole > 0) {
        ntk_text_table_format(table, "%.1f%%", 100 * part / whole);
    } else {
        ntk_text_table_text(table, "-");
    }
}

void ntk_cell_bytes(struct ntk_text_table *table, uint64_t bytes_count)
{
    char text[NTK_UNITS_TEXT_BYTES];

    ntk_text_table_text(table, ntk_units_bytes(text, sizeof text, bytes_count));
}

void ntk_cell_bytes_or_dash(struct ntk_text_table *table, uint64_t bytes_count)
{
    if (bytes_count) {
        ntk_cell_bytes(table, bytes_count);
    } else {
        ntk_text_table_text(table, "-");
    }
}

void ntk_cell_count(struct ntk_text_table *table, double count)
{
    char text[NTK_UNITS_TEXT_BYTES];

    ntk_text_table_text(table, ntk_units_count(text, sizeof text, count));
}

void ntk_cell_u64(struct ntk_text_table *table, uint64_t value)
{
    ntk_text_table_format(table, "%llu", (unsigned long long)value);
}

void ntk_cell_u64_or_dash(struct ntk_text_table *table, uint64_t value, bool is_known)
{
    if (is_known) {
        ntk_cell_u64(table, value);
    } else {
        ntk_text_table_text(table, "-");
    }
}

void ntk_cell_dashes(struct ntk_text_table *table, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        ntk_text_table_text(table, "-");
    }
}

const char *ntk_queue_shown(const char *name, char *buf, size_t buf_bytes)
{
    if (name) {
        ntk_ntff_queue_name_show(name, buf, buf_bytes);
    } else {
        snprintf(buf, buf_bytes, "-");
    }
    return buf;
}

void ntk_output_more(struct ntk_buf *out, size_t row_count)
{
    if (row_count > NTK_OUTPUT_ROWS_MAX) {
        ntk_buf_add_format(out, "... and %zu more\n", row_count - NTK_OUTPUT_ROWS_MAX);
    }
}

void ntk_json_key_ns(struct ntk_json *json, const char *key, int64_t ps)
{
    ntk_json_key_double(json, key, (double)ps / NTK_TRACE_PS_PER_NS);
}

void ntk_json_key_share(struct ntk_json *json, const char *key, double part, double whole)
{
    ntk_json_key(json, key);
    if (whole > 0) {
        ntk_json_double(json, part / whole);
    } else {
        ntk_json_null(json);
    }
}

void ntk_json_key_queue(struct ntk_json *json, const char *key, const char *name)
{
    char shown[NTK_NTFF_NAME_BYTES];

    ntk_json_key_text(json, key, name ? ntk_queue_shown(name, shown, sizeof shown) : NULL);
}

void ntk_json_key_opcode(struct ntk_json *json, const char *key, uint8_t opcode)
{
    char name[16];

    ntk_json_key_text(json, key, ntk_ntff_opcode_name(opcode, name, sizeof name));
}
