/* SPDX-License-Identifier: MIT */
/* output_records - writes a line for each instruction, or for each record. */
#include "profiler/output/answers/output_records.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "profiler/output/tables/operands.h"

/* Number of records after which pages of the file are returned to the system. */
#define PIECE_RECORDS ((uint64_t)1 << 16)

int ntk_output_instructions(const struct ntk_trace *trace, struct ntk_sink *sink)
{
    struct ntk_operands *operands = ntk_operands_create(trace);
    int ret = operands ? 0 : -ENOMEM;

    ntk_buf_add_format(&sink->buf, "%-4s  %-7s  %7s  %14s  %13s  %11s  %s\n", "NODE", "ENGINE",
                       "PC", "START (NS)", "DURATION (NS)", "WAIT CYCLES", "OPCODE");
    for (size_t c = 0; c < trace->core_count && ret == 0; c++) {
        ntk_trace_each_instruction(&trace->cores[c], instruction) {
            struct ntk_operands_text text = { 0 };
            char name[16];
            ntk_buf_add_format(&sink->buf,
                               "%-4zu  %-7s  %7u  %14" PRId64 "  %13" PRId64 "  %11u  %s", c,
                               ntk_ntff_engine_title(instruction->engine), instruction->slot,
                               instruction->start_ps / NTK_TRACE_PS_PER_NS,
                               (instruction->end_ps - instruction->start_ps) / NTK_TRACE_PS_PER_NS,
                               instruction->wait_cycles,
                               ntk_ntff_opcode_name(instruction->opcode, name, sizeof name));
            if (ntk_operands_get(operands, c, instruction, &text)) {
                ntk_buf_add_text(&sink->buf, "  ");
                /* The text of a vendor's instruction starts with a blank if it waits for
                 * nothing. */
                if (text.function) {
                    ntk_buf_add_text(&sink->buf, text.operands + strspn(text.operands, " "));
                } else {
                    ntk_buf_add_format(&sink->buf, "%s%s%s", text.operation,
                                       *text.operands ? " " : "", text.operands);
                }
            }
            ntk_buf_add_char(&sink->buf, '\n');
            ret = ntk_sink_step(sink);
            if (ret < 0) {
                break;
            }
        }
    }
    ntk_operands_destroy(operands);
    return ret;
}

/* ---- records ---- */

static void put_slot(struct ntk_buf *out, const struct ntk_ntff_record *record, const char *phase)
{
    ntk_buf_add_format(out, "%-14s  %-7s  ", phase, ntk_ntff_engine_title(record->engine));
    if (record->slot == NTK_NTFF_SLOT_OUTSIDE) {
        ntk_buf_add_text(out, "outside the program\n");
    } else {
        ntk_buf_add_format(out, "pc %u\n", record->slot);
    }
}

static void put_dma(struct ntk_buf *out, const struct ntk_ntff_record *record, unsigned core,
                    const char *phase)
{
    ntk_buf_add_format(out, "%-14s  Q%u-E%u", phase, record->queue,
                       NTK_NTFF_DMA_ENGINES * core + record->engine);
    if (record->kind == NTK_NTFF_RECORD_DMA_END) {
        ntk_buf_add_format(out, "  %u bytes, crc 0x%04x", record->bytes_count, record->crc_in);
    }
    ntk_buf_add_char(out, '\n');
}

static void put_record(struct ntk_buf *out, const struct ntk_ntff_record *record, unsigned core)
{
    switch (record->kind) {
    case NTK_NTFF_RECORD_INSTRUCTION_START:
        put_slot(out, record, "START");
        break;
    case NTK_NTFF_RECORD_INSTRUCTION_END:
        put_slot(out, record, "END");
        break;
    case NTK_NTFF_RECORD_EVENT:
        ntk_buf_add_format(
            out, "%-14s  %-7s  %s %u %s = %u%s\n", "CHANGE", ntk_ntff_source_title(record->engine),
            record->is_semaphore ? "semaphore" : "event", record->number,
            ntk_ntff_mode_name(record->mode), record->value, record->has_bit30 ? " (bit 30)" : "");
        break;
    case NTK_NTFF_RECORD_DMA_START:
        put_dma(out, record, core, "M2S_SOP");
        break;
    case NTK_NTFF_RECORD_DMA_END:
        put_dma(out, record, core, "S2M_EOP");
        break;
    case NTK_NTFF_RECORD_DMA_COMPLETION:
        put_dma(out, record, core, "S2M_COMPLETION");
        break;
    case NTK_NTFF_RECORD_THROTTLE:
        ntk_buf_add_format(out, "%-14s  type %u, limit %u/%u\n", "THROTTLE", record->throttle_type,
                           record->throttle_k, record->throttle_n);
        break;
    case NTK_NTFF_RECORD_ERROR:
        ntk_buf_add_format(out, "%-14s  %-7s  %s", "ERROR", ntk_ntff_source_title(record->engine),
                           ntk_ntff_error_name(record->error));
        if (record->slot != NTK_NTFF_SLOT_OUTSIDE) {
            ntk_buf_add_format(out, ", pc %u", record->slot);
        }
        ntk_buf_add_char(out, '\n');
        break;
    case NTK_NTFF_RECORD_UNKNOWN:
        ntk_buf_add_text(out, "UNKNOWN\n");
        break;
    }
}

/* Prints collectives core and hardware error records, because only their size is known. */
static void put_raw(struct ntk_buf *out, const struct ntk_ntff_section *section,
                    const uint8_t *bytes)
{
    if (section->block == NTK_NTFF_BLOCK_CC) {
        ntk_buf_add_format(out, "%-14s  core %u, type %u:", "COLLECTIVES", section->index,
                           section->type);
    } else {
        ntk_buf_add_format(out, "%-14s ", "ERROR");
    }
    for (size_t i = 0; i < NTK_OUTPUT_RECORD_BYTES; i++) {
        ntk_buf_add_format(out, i % 4 ? "%02x" : " %02x", bytes[i]);
    }
    ntk_buf_add_char(out, '\n');
}

static int put_section(const struct ntk_ntff *ntff, size_t node, size_t index,
                       struct ntk_sink *sink)
{
    const struct ntk_ntff_subgraph *subgraph = &ntff->subgraphs[node];
    const struct ntk_ntff_section *section = &subgraph->sections[index];
    int ret = 0;

    for (uint64_t i = 0; i < section->record_count && ret == 0; i++) {
        const uint8_t *bytes = section->records + i * NTK_OUTPUT_RECORD_BYTES;
        struct ntk_ntff_record record;
        ntk_ntff_record_get(subgraph, section, i, &record);
        bool is_error = section->type == NTK_NTFF_SECTION_ERROR;
        if (section->block == NTK_NTFF_BLOCK_CC ||
            (is_error && record.kind == NTK_NTFF_RECORD_UNKNOWN)) {
            ntk_buf_add_format(&sink->buf, "%-4zu  %20s  ", node, "-");
            put_raw(&sink->buf, section, bytes);
        } else {
            ntk_buf_add_format(&sink->buf, "%-4zu  %20" PRId64 "  ", node, record.time_ps);
            put_record(&sink->buf, &record, subgraph->core);
        }
        ret = ntk_sink_step(sink);
        if ((i + 1) % PIECE_RECORDS == 0) {
            ntk_ntff_give_back(ntff, bytes - (PIECE_RECORDS - 1) * NTK_OUTPUT_RECORD_BYTES,
                               PIECE_RECORDS * NTK_OUTPUT_RECORD_BYTES);
        }
    }
    return ret;
}

static unsigned what_of(const struct ntk_ntff_section *section)
{
    if (section->type == NTK_NTFF_SECTION_DMA && section->block != NTK_NTFF_BLOCK_CC) {
        return NTK_RECORDS_DMA;
    }
    return section->type == NTK_NTFF_SECTION_ERROR ? NTK_RECORDS_ERRORS : NTK_RECORDS_TRACE;
}

int ntk_output_records(const struct ntk_ntff *ntff, unsigned what, struct ntk_sink *sink)
{
    int ret = 0;

    ntk_buf_add_format(&sink->buf, "%-4s  %20s  %-14s  %s\n", "NODE", "TIME (PS)", "RECORD", "OF");
    for (size_t g = 0; g < ntff->subgraph_count && ret == 0; g++) {
        for (size_t s = 0; s < ntff->subgraphs[g].section_count && ret == 0; s++) {
            if (what & what_of(&ntff->subgraphs[g].sections[s])) {
                ret = put_section(ntff, g, s, sink);
            }
        }
    }
    return ret;
}
