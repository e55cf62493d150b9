/* SPDX-License-Identifier: MIT */
/*
 * output_cells - writes common cells of tables and JSON: times, shares, names of engines, opcodes,
 * queues.
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_CELLS_H
#define NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_CELLS_H

#include "shared/base/text_table.h"
#include "profiler/trace/trace.h"
#include "shared/base/json.h"
#include "shared/base/units.h"

/* Maximum number of rows in text; JSON has all. */
#define NTK_OUTPUT_ROWS_MAX 20

/* Writes us with three digits. */
void ntk_cell_us(struct ntk_text_table *table, int64_t ps);
/* Writes a share such as "12.3%"; "-" if whole is not positive. */
void ntk_cell_share(struct ntk_text_table *table, double part, double whole);
/* Writes a size such as "1.5MB". */
void ntk_cell_bytes(struct ntk_text_table *table, uint64_t bytes_count);
/* Writes a size; "-" for 0. */
void ntk_cell_bytes_or_dash(struct ntk_text_table *table, uint64_t bytes_count);
/* Writes a count such as "1.23G". */
void ntk_cell_count(struct ntk_text_table *table, double count);
void ntk_cell_u64(struct ntk_text_table *table, uint64_t value);
void ntk_cell_u64_or_dash(struct ntk_text_table *table, uint64_t value, bool is_known);
/* Writes "-" in several cells. */
void ntk_cell_dashes(struct ntk_text_table *table, unsigned count);
/* Returns a name such as "qSyncIO0"; "-" for NULL. Returns buf. */
const char *ntk_queue_shown(const char *name, char *buf, size_t buf_bytes);
/* Writes "... and 12 more" if not all rows are shown. */
void ntk_output_more(struct ntk_buf *out, size_t row_count);

/* Writes key and value; ps are converted to ns with three digits. */
void ntk_json_key_ns(struct ntk_json *json, const char *key, int64_t ps);
/* Writes part / whole, or null. */
void ntk_json_key_share(struct ntk_json *json, const char *key, double part, double whole);
/* Writes the text as shown, or null. */
void ntk_json_key_queue(struct ntk_json *json, const char *key, const char *name);
void ntk_json_key_opcode(struct ntk_json *json, const char *key, uint8_t opcode);

#endif
