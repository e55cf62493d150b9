/* SPDX-License-Identifier: MIT */
/* rows_instruction - creates rows for activity of the engines: instructions, busy spans, layers,
 * operations. */
#include "profiler/output/tables/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "profiler/analysis/interval.h"
#include "shared/formats/neff/vendor_slot.h"
#include "profiler/output/tables/operands.h"
#include "profiler/output/tables/predecessors.h"
#include "shared/base/buf.h"

#define NAME_BYTES 40

/* Converts cycles of the base clock of the core generation to ns. */
static int64_t wait_ns(const struct ntk_trace *trace, uint16_t cycles)
{
    return trace->has_chip ? (int64_t)cycles * 1000 / trace->chip.base_mhz : NTK_ABSENT_I64;
}

static int64_t traffic(bool is_known, uint64_t bytes)
{
    return is_known && bytes ? ntk_rows_i64(bytes) : NTK_ABSENT_I64;
}

static void fill_work(const struct ntk_trace *trace, const struct ntk_slot_fact *fact,
                      uint8_t opcode, struct ntk_instruction_row *row)
{
    bool is_compiled = fact->compiler_pc >= 1 || fact->code->is_open;
    bool is_matmul = opcode == NTK_NTFF_OPCODE_MATMUL;
    bool is_tensor_operation = is_matmul || opcode == NTK_NTFF_OPCODE_LDWEIGHTS;
    bool has_type = !is_tensor_operation || fact->code->is_open || fact->code->has_flops ||
                    (trace->has_chip && ntk_vendor_slot_has_layout(trace->chip.generation));

    row->compiler_pc = fact->compiler_pc >= 0 ? fact->compiler_pc : NTK_ABSENT_I64;
    if (!is_compiled) {
        row->type = "";
    } else {
        row->type = !has_type ? NULL : fact->code->is_transpose ? "TRANSPOSE" : "REGULAR";
    }
    row->tensor_type = is_tensor_operation && is_compiled ? row->type : NULL;
    row->flops = fact->code->has_flops ? ntk_rows_i64(fact->code->flops) : NTK_ABSENT_I64;
    row->adjusted_flops =
        fact->code->has_adjusted ? ntk_rows_i64(fact->code->adjusted_flops) : NTK_ABSENT_I64;
    row->elements = fact->code->has_flops ? ntk_rows_i64(fact->code->elements) : NTK_ABSENT_I64;
    row->transpose_flops = fact->code->is_transpose ? row->flops : NTK_ABSENT_I64;
    row->adjusted_transpose_flops = fact->code->is_transpose ? row->adjusted_flops : NTK_ABSENT_I64;
    row->transpose_elements = fact->code->is_transpose ? row->elements : NTK_ABSENT_I64;
    row->hbm_read_bytes = traffic(fact->code->has_bytes, fact->code->read_bytes);
    row->hbm_write_bytes = traffic(fact->code->has_bytes, fact->code->write_bytes);
    row->sbuf_read_bytes = traffic(fact->code->has_onchip, fact->code->sbuf_read_bytes);
    row->sbuf_write_bytes = traffic(fact->code->has_onchip, fact->code->sbuf_write_bytes);
    row->psum_read_bytes = traffic(fact->code->has_onchip, fact->code->psum_read_bytes);
    row->psum_write_bytes = traffic(fact->code->has_onchip, fact->code->psum_write_bytes);
    bool is_psum_to_sbuf = fact->code->has_onchip && fact->code->is_psum_to_sbuf;
    row->psum_to_sbuf_bytes = traffic(is_psum_to_sbuf, fact->code->psum_to_sbuf_bytes);
    row->is_psum_to_sbuf = is_psum_to_sbuf ? 1 : NTK_ABSENT_I64;
}

/* Writes an id such as "sg0001:12", and returns its number including the subgraph. */
static int64_t id_text(char *text, size_t text_bytes, uint32_t subgraph, uint64_t id)
{
    snprintf(text, text_bytes, "sg%04u:%" PRIu64, subgraph, id);
    return ntk_rows_i64((uint64_t)subgraph << NTK_NEFF_DEBUG_ID_BITS | id);
}

/* Returns attributes and line of the XLA operation; [] if none. */
static const char *attributes_of(const struct ntk_neff_hlo *hlo, struct ntk_buf *buf)
{
    const char *blank = "";

    ntk_buf_reset(buf);
    ntk_buf_add_char(buf, '[');
    if (hlo->op_type[0]) {
        ntk_buf_add_format(buf, "op_type=\"%s\"", hlo->op_type);
        blank = " ";
    }
    if (hlo->file[0]) {
        ntk_buf_add_format(buf, "%ssource_file=\"%s\" source_line=%u", blank, hlo->file, hlo->line);
    }
    ntk_buf_add_char(buf, ']');
    return ntk_buf_text_get(buf);
}

/* Returns the id including the number of the subgraph; 0 if none. */
static int64_t raw_id(const struct ntk_neff_debug *names, bool is_there, uint64_t id)
{
    return is_there ? ntk_rows_i64((uint64_t)names->subgraph << NTK_NEFF_DEBUG_ID_BITS | id) : 0;
}

/* Fills the names; instructions that the runtime inserted have empty names. */
static void fill_names(const struct ntk_neff_debug *names, const struct ntk_slot_fact *fact,
                       char texts[2][NAME_BYTES], struct ntk_buf *attributes,
                       struct ntk_instruction_row *row)
{
    bool has_penguin = fact->named && fact->named->has_penguin;

    row->named = fact->named;
    texts[0][0] = '\0';
    texts[1][0] = '\0';
    row->raw_bir_id =
        fact->has_bir_id ? id_text(texts[0], NAME_BYTES, names->subgraph, fact->bir_id) : 0;
    row->raw_penguin_id =
        has_penguin ? id_text(texts[1], NAME_BYTES, names->subgraph, fact->named->penguin_id) : 0;
    row->bir_id = texts[0];
    row->penguin_id = texts[1];
    row->bir_name = fact->named ? fact->named->name : "";
    row->penguin_text = fact->named ? fact->named->penguin_text : NULL;
    row->raw_hlo_id = raw_id(names, fact->hlo != NULL, fact->hlo ? fact->hlo->id : 0);
    bool has_framework = fact->hlo && fact->hlo->has_framework;
    row->raw_framework_id =
        raw_id(names, has_framework, has_framework ? fact->hlo->framework_id : 0);
    row->hlo_name = fact->hlo ? fact->hlo->text : "";
    row->hlo_attrs = fact->hlo          ? attributes_of(fact->hlo, attributes)
                     : fact->has_bir_id ? "[]"
                                        : "";
}

static int fill_position(struct ntk_position_texts *texts, const struct ntk_export *export,
                         size_t core_index, const struct ntk_trace_instruction *from,
                         struct ntk_instruction_row *row)
{
    struct ntk_position_text text;
    int ret = ntk_position_texts_get(texts, export, core_index, from, &text);

    row->nki_location = text.nki_location;
    row->bir_location = text.bir_location;
    row->kernel_name = text.kernel_name;
    row->kernel_function = text.kernel_function;
    row->iteration = text.iteration;
    row->iteration_path = text.iteration_path;
    row->frame_ids = text.frame_ids;
    return ret;
}

struct instruction_target {
    const struct ntk_export *export;
    struct ntk_operands *operands;
    ntk_row_put *put;
    void *ctx;
};

static int put_instructions(const struct instruction_target *target, size_t core_index)
{
    const struct ntk_export *export = target->export;
    const struct ntk_trace_core *core = &export->trace->cores[core_index];
    struct ntk_instruction_row row = {
        .core_index = (int64_t)ntk_trace_core_number(export->trace, core_index),
        .subgraph = core->ntff->name,
        .path = export->cores[core_index].path,
        .raw_bir_id = NTK_ABSENT_I64,
        .raw_penguin_id = NTK_ABSENT_I64,
        .raw_hlo_id = NTK_ABSENT_I64,
        .raw_framework_id = NTK_ABSENT_I64,
    };
    const struct ntk_neff_debug *names = export->program->names[core_index];
    struct ntk_predecessors *predecessors = NULL;
    struct ntk_position_texts positions = { 0 };
    struct ntk_buf attributes = { 0 };
    char texts[2][NAME_BYTES];
    char unnamed[8];
    bool has_operands = !(export->skipped_parts & NTK_PART_OPERANDS);
    bool has_names = names && !(export->skipped_parts & NTK_PART_NAMES);
    bool has_positions = names && !(export->skipped_parts & NTK_PART_POSITION);
    bool has_predecessors = names && !(export->skipped_parts & NTK_PART_PREDECESSORS);
    int ret = has_predecessors ? ntk_predecessors_create(export, core_index, &predecessors) : 0;

    if (ret < 0) {
        return ret;
    }

    ntk_trace_each_instruction(core, from) {
        const struct ntk_slot_fact *fact = ntk_program_fact(export->program, core_index, from);
        const char *layer = ntk_layer_name(export->program, core, fact);
        bool is_matmul = from->opcode == NTK_NTFF_OPCODE_MATMUL;
        struct ntk_operands_text text = { 0 };
        row.id = export->cores[core_index].first_instruction_id + (from - core->instructions);
        row.start_ns = ntk_rows_ns(from->start_ps);
        row.end_ns = ntk_rows_ns(from->end_ps);
        row.duration_ns = ntk_rows_ns(from->end_ps - from->start_ps);
        row.engine_number = from->engine;
        row.engine = ntk_ntff_engine_name(from->engine);
        row.title = ntk_ntff_engine_title(from->engine);
        row.label = is_matmul ? "TensorMatrix" : row.title;
        row.opcode = ntk_ntff_opcode_name(from->opcode, unnamed, sizeof unnamed);
        if (has_operands) {
            (void)ntk_operands_of_code(target->operands, fact->code, from, &text);
        }
        row.operands = text.operands;
        row.operation = fact->code->is_runtime ? NULL : text.operation;
        row.compiler_operands = text.compiler_operands;
        row.activation = text.function;
        row.pc = from->slot;
        row.wait_ns = wait_ns(export->trace, from->wait_cycles);
        row.crc_in = from->crc_in;
        row.crc_out = from->crc_out;
        row.layer = layer ? layer : core->neff ? "" : NULL;
        fill_work(export->trace, fact, from->opcode, &row);
        if (has_names) {
            fill_names(names, fact, texts, &attributes, &row);
        }
        if (has_positions) {
            ret = fill_position(&positions, export, core_index, from, &row);
        }
        if (has_predecessors && ret == 0) {
            ret = ntk_predecessors_get(predecessors, fact, &row.predecessors);
        }
        if (ret == 0) {
            ret = target->put(target->ctx, &row);
        }
        if (ret < 0) {
            break;
        }
    }
    ntk_predecessors_destroy(predecessors);
    ntk_position_texts_fini(&positions);
    ntk_buf_fini(&attributes);
    return ret;
}

unsigned ntk_rows_instruction_unused(const struct ntk_column *columns, size_t count)
{
#define PART(member, part)                                            \
    {                                                                 \
        offsetof(struct ntk_instruction_row, member), NTK_PART_##part \
    }
    static const struct {
        size_t offset;
        enum ntk_instruction_part part;
    } parts[] = {
        PART(operands, OPERANDS),
        PART(operation, OPERANDS),
        PART(compiler_operands, OPERANDS),
        PART(activation, OPERANDS),
        PART(nki_location, POSITION),
        PART(bir_location, POSITION),
        PART(kernel_name, POSITION),
        PART(kernel_function, POSITION),
        PART(iteration, POSITION),
        PART(iteration_path, POSITION),
        PART(frame_ids, POSITION),
        PART(predecessors, PREDECESSORS),
        PART(bir_id, NAMES),
        PART(bir_name, NAMES),
        PART(penguin_id, NAMES),
        PART(raw_bir_id, NAMES),
        PART(raw_penguin_id, NAMES),
        PART(raw_hlo_id, NAMES),
        PART(raw_framework_id, NAMES),
        PART(penguin_text, NAMES),
        PART(hlo_name, NAMES),
        PART(hlo_attrs, NAMES),
    };
#undef PART
    unsigned unused =
        NTK_PART_OPERANDS | NTK_PART_POSITION | NTK_PART_PREDECESSORS | NTK_PART_NAMES;

    for (size_t c = 0; c < count; c++) {
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
            if (columns[c].presence != NTK_COLUMN_NEVER && columns[c].offset == parts[p].offset) {
                unused &= ~(unsigned)parts[p].part;
            }
        }
    }
    return unused;
}

int ntk_rows_instructions(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    struct instruction_target target = { export, ntk_operands_create(export->trace), put, ctx };
    int ret = target.operands ? 0 : -ENOMEM;

    for (size_t c = 0; c < export->trace->core_count && ret == 0; c++) {
        ret = put_instructions(&target, c);
    }
    ntk_operands_destroy(target.operands);
    return ret;
}

static int put_span(struct ntk_span_row *row, unsigned engine, struct ntk_interval span,
                    ntk_row_put *put, void *ctx)
{
    row->engine = ntk_ntff_engine_name(engine);
    row->start_ns = ntk_rows_ns(span.start_ps);
    row->end_ns = ntk_rows_ns(span.end_ps);
    row->duration_ns = ntk_rows_ns(span.end_ps - span.start_ps);
    return put(ctx, row);
}

/* Spans of one engine are in order of time; a span is output when the next one starts. */
int ntk_rows_active_spans(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    int ret = 0;

    for (size_t c = 0; c < export->trace->core_count; c++) {
        const struct ntk_trace_core *core = &export->trace->cores[c];
        struct ntk_span_row row = { .core_index = (int64_t)ntk_trace_core_number(export->trace, c),
                                    .subgraph = core->ntff->name };
        struct ntk_interval open[NTK_NTFF_ENGINE_COUNT];
        bool has_open[NTK_NTFF_ENGINE_COUNT] = { false };

        ntk_trace_each_instruction(core, from) {
            struct ntk_interval *span = &open[from->engine];
            if (from->opcode == NTK_NTFF_OPCODE_EVENT_SEMAPHORE) {
                continue;
            }
            if (has_open[from->engine] && from->start_ps <= span->end_ps) {
                span->end_ps = from->end_ps > span->end_ps ? from->end_ps : span->end_ps;
                continue;
            }
            if (has_open[from->engine]) {
                ret = put_span(&row, from->engine, *span, put, ctx);
                if (ret < 0) {
                    return ret;
                }
            }
            has_open[from->engine] = true;
            *span = (struct ntk_interval){ from->start_ps, from->end_ps };
        }
        for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT && ret == 0; e++) {
            if (has_open[e]) {
                ret = put_span(&row, e, open[e], put, ctx);
            }
        }
    }
    return ret;
}

/* Returns flops divided by the peak of the tensor engines of all cores in that time. */
static double utilization(const struct ntk_trace *trace, const struct ntk_layer *layer,
                          uint64_t flops)
{
    if (!layer->has_flops || (flops && (!trace->has_chip || layer->flops_ps == 0))) {
        return NTK_ABSENT_F64;
    }
    if (flops == 0) {
        return 0;
    }
    double peak = 2.0 * trace->chip.pe_rows * trace->chip.pe_columns * trace->chip.pe_mhz * 1e6 *
                  (double)trace->core_count;
    return (double)flops / (peak * ((double)layer->flops_ps / 1e12));
}

int ntk_rows_layers(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    struct ntk_buf name = { 0 };
    int ret = 0;

    for (size_t i = 0; i < export->layers.layer_count && ret == 0; i++) {
        const struct ntk_layer *layer = &export->layers.layers[i];
        const char *path = export->cores[layer->core_index].path;
        int64_t duration_ps = layer->end_ps - layer->start_ps;
        struct ntk_layer_row row = {
            .path = path,
            .start_ns = ntk_rows_ns(layer->start_ps),
            .end_ns = ntk_rows_ns(layer->end_ps),
            .duration_ns = ntk_rows_ns(duration_ps),
            .hfu = utilization(export->trace, layer, layer->peak_flops),
            .mfu = utilization(export->trace, layer, layer->useful_peak_flops),
            .flops = layer->has_flops ? ntk_rows_i64(layer->flops) : NTK_ABSENT_I64,
            .useful_flops = layer->has_flops ? ntk_rows_i64(layer->flops - layer->transpose_flops)
                                             : NTK_ABSENT_I64,
        };
        ntk_buf_reset(&name);
        ntk_buf_add_text(&name, path);
        if (layer->name) {
            ntk_buf_add_text(&name, layer->name[0] == '/' ? "" : "/");
            ntk_buf_add_text(&name, layer->name);
        }
        row.name = ntk_buf_text_get(&name);
        for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
            const struct ntk_engine_activity *engine = &layer->engines[e];
            row.instruction_count[e] = (int64_t)engine->instruction_count;
            row.instruction_ns[e] = ntk_rows_ns(engine->instruction_ps);
            row.active_ns[e] = ntk_rows_ns(engine->active_ps);
            row.active_ratio[e] =
                duration_ps > 0 ? (float)engine->active_ps / (float)duration_ps : 0;
        }
        ret = ntk_buf_ok(&name) ? put(ctx, &row) : -ENOMEM;
    }
    ntk_buf_fini(&name);
    return ret;
}

int ntk_rows_opcodes(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_trace *trace = export->trace;
    char unnamed[8];
    int ret = 0;

    for (size_t i = 0; i < export->opcodes.row_count && ret == 0; i++) {
        const struct ntk_opcode_row *from = &export->opcodes.rows[i];
        struct ntk_opcode_summary_row row = {
            .engine = ntk_ntff_engine_name(from->engine),
            .opcode = ntk_ntff_opcode_name(from->opcode, unnamed, sizeof unnamed),
            .count = (int64_t)from->instruction_count,
            .instruction_ns = ntk_rows_ns(from->instruction_ps),
            .active_ns = ntk_rows_ns(from->active_ps),
            .active_ratio = trace->has_total && trace->total_ps > 0
                                ? (double)from->active_ps / (double)trace->total_ps
                                : NTK_ABSENT_F64,
        };
        bool waits = from->opcode == NTK_NTFF_OPCODE_EVENT_SEMAPHORE;
        row.working_ns = waits ? 0 : row.instruction_ns;
        row.waiting_ns = waits ? row.instruction_ns : 0;
        ret = put(ctx, &row);
    }
    return ret;
}
