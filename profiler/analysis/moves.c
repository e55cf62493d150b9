/* SPDX-License-Identifier: MIT */
/* moves - collects the names on both sides of transfers, each once, and their bytes. */
#include "profiler/analysis/moves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/dma_group.h"
#include "profiler/analysis/open_slot.h"
#include "shared/base/buf.h"
#include "shared/base/json.h"
#include "shared/base/map.h"
#include "shared/formats/neff/vendor_slot.h"

struct side {
    struct ntk_map names; /* each name once, in order */
    bool has_unknown;
};

struct filling {
    struct ntk_moves *moves;
    struct side sides[NTK_MOVES_SIDE_COUNT];
    struct ntk_map tensors; /* tensors outside the core */
    bool has_op, is_many;   /* is_many: there are several operations */
    int failed;
};

/* ---- one side ---- */

static void add_side(struct filling *f, enum ntk_moves_side side, const char *name, bool is_on_core,
                     uint64_t bytes_count)
{
    f->moves->bytes[side] += bytes_count;
    f->moves->is_load = f->moves->is_load && (side == NTK_MOVES_SOURCE || is_on_core);
    if (!name) {
        f->sides[side].has_unknown = true;
    } else if (ntk_map_put(&f->sides[side].names, name, f) < 0 ||
               (!is_on_core && ntk_map_put(&f->tensors, name, (void *)(uintptr_t)name) < 0)) {
        f->failed = -ENOMEM;
    }
}

static void add_var(struct filling *f, enum ntk_moves_side side, const struct ntk_neff_var *var,
                    uint64_t bytes_count)
{
    f->moves->has_input =
        f->moves->has_input || (side == NTK_MOVES_SOURCE && var && var->type == NTK_NEFF_VAR_INPUT);
    f->moves->has_output =
        f->moves->has_output || (side == NTK_MOVES_DEST && var && var->type == NTK_NEFF_VAR_OUTPUT);
    add_side(f, side, var ? var->name : NULL, var && var->type == NTK_NEFF_VAR_STATE_BUFFER,
             bytes_count);
}

static void set_op(struct filling *f, const char *op)
{
    f->is_many = f->is_many || (f->has_op && strcmp(f->moves->op, op) != 0);
    f->has_op = true;
    f->moves->op = op;
}

/* ---- three kinds of instructions ---- */

static uint64_t row_count(const struct ntk_neff_pattern *pattern)
{
    uint64_t rows = 1;

    for (uint32_t d = 1; d < pattern->dim_count; d++) {
        rows *= pattern->sizes[d];
    }
    return rows;
}

static void add_group(struct filling *f, const struct ntk_trace_core *core, unsigned engine,
                      const struct ntk_isa_instr *trigger)
{
    const struct ntk_neff_subgraph *neff = core->neff;
    const struct ntk_neff_transfer *transfer;
    struct ntk_dma_cursor cursor = { 0 };
    uint64_t rows = 0;

    f->moves->is_prepared = true;
    f->moves->block_id = trigger->group_id;
    while ((transfer = ntk_dma_transfer_next(core, engine, trigger, &cursor)) != NULL) {
        set_op(f, ntk_neff_transfer_op_name(transfer->op));
        f->moves->is_plain = f->moves->is_plain && (transfer->op == NTK_NEFF_TRANSFER_COPY ||
                                                    transfer->op == NTK_NEFF_TRANSFER_CAST);
        for (uint32_t s = 0; s < transfer->source_count; s++) {
            const struct ntk_neff_pattern *from = &transfer->from[s];
            add_var(f, NTK_MOVES_SOURCE,
                    from->var < neff->var_count ? &neff->vars[from->var] : NULL,
                    ntk_dma_pattern_bytes(from));
        }
        add_var(f, NTK_MOVES_DEST,
                transfer->to.var < neff->var_count ? &neff->vars[transfer->to.var] : NULL,
                ntk_dma_pattern_bytes(&transfer->to));
        rows += row_count(&transfer->to);
        if (cursor.group->comment && cursor.group->comment[0]) {
            f->moves->name = cursor.group->comment;
        }
    }
    f->moves->is_one_row = rows == 1;
    if (trigger->queue < neff->queue_set_count) {
        f->moves->queue_type = neff->queue_sets[trigger->queue].type;
    }
}

static void add_operand(struct filling *f, const struct ntk_trace_core *core,
                        const struct ntk_isa_instr *instr, unsigned role, enum ntk_moves_side side)
{
    const struct ntk_isa_operand *operand = &instr->operand[role];
    uint64_t bytes_count = ntk_dma_rows_of(instr, role) * ntk_isa_operand_elements(operand) *
                           ntk_dtype_bytes(operand->dtype);

    switch (operand->space) {
    case NTK_ISA_SPACE_SBUF:
        add_side(f, side, "SB", true, bytes_count);
        break;
    case NTK_ISA_SPACE_PSUM:
        add_side(f, side, "PSUM", true, bytes_count);
        break;
    case NTK_ISA_SPACE_VAR:
        add_var(f, side, core->neff ? ntk_neff_var_by_id(core->neff, operand->var_id) : NULL,
                bytes_count);
        break;
    default:
        break;
    }
}

static void add_open(struct filling *f, const struct ntk_trace_core *core,
                     const struct ntk_isa_instr *instr)
{
    bool is_cast = instr->operand[NTK_ISA_SRC0].dtype != instr->operand[NTK_ISA_DST].dtype;

    switch (instr->op) {
    case NTK_ISA_OP_DMA_INDIRECT_COPY:
        set_op(f, is_cast ? "cast" : "copy");
        f->moves->is_plain = false; /* the indices are also read */
        add_operand(f, core, instr, NTK_ISA_SRC0, NTK_MOVES_SOURCE);
        break;
    case NTK_ISA_OP_DMA_COPY:
        set_op(f, is_cast ? "cast" : "copy");
        add_operand(f, core, instr, NTK_ISA_SRC0, NTK_MOVES_SOURCE);
        break;
    default:
        set_op(f, instr->op == NTK_ISA_OP_DMA_TRANSPOSE ? "transpose" : "compute");
        f->moves->is_plain = false;
        for (int s = 0; s < NTK_ISA_DMA_SOURCES; s++) {
            add_operand(f, core, instr, ntk_isa_dma_sources[s], NTK_MOVES_SOURCE);
        }
        break;
    }
    add_operand(f, core, instr, NTK_ISA_DST, NTK_MOVES_DEST);
}

const struct ntk_neff_var *ntk_moves_vendor_var(const struct ntk_trace_core *core,
                                                const struct ntk_trace_instruction *instruction,
                                                enum ntk_moves_side side)
{
    int64_t pc = ntk_ntff_compiler_pc(core->ntff, instruction->engine, instruction->slot);
    const struct ntk_neff_engine *engine =
        core->neff ? &core->neff->engines[instruction->engine] : NULL;

    if (!engine || engine->nsx_version || pc < 0 ||
        (uint64_t)pc >= engine->code_bytes / NTK_NTFF_SLOT_BYTES) {
        return NULL;
    }
    const uint8_t *slot = engine->code + (size_t)pc * NTK_NTFF_SLOT_BYTES;
    uint64_t address = ntk_vendor_slot_u(slot, side == NTK_MOVES_SOURCE ? 16 : 40, 8);

    return slot[0] == NTK_VENDOR_OPCODE_PSEUDO_TRANSFER ? ntk_vendor_slot_var(core->neff, address)
                                                        : NULL;
}

static void add_vendor(struct filling *f, const struct ntk_trace_core *core,
                       const struct ntk_trace_instruction *instruction, const uint8_t *slot)
{
    set_op(f, slot[62] == slot[63] ? "copy" : "cast");
    add_var(f, NTK_MOVES_SOURCE, ntk_moves_vendor_var(core, instruction, NTK_MOVES_SOURCE),
            ntk_vendor_slot_dma_read_bytes(slot));
    add_var(f, NTK_MOVES_DEST, ntk_moves_vendor_var(core, instruction, NTK_MOVES_DEST),
            ntk_vendor_slot_dma_write_bytes(slot));
}

/* Returns false if the instruction starts no transfer with a description. */
static bool find(struct filling *f, const struct ntk_trace *trace,
                 const struct ntk_trace_core *core, const struct ntk_trace_instruction *instruction)
{
    const uint8_t *slot = ntk_ntff_slot_get(core->ntff, instruction->engine, instruction->slot);
    struct ntk_isa_instr instr;

    if (ntk_dma_trigger_get(core, instruction, &instr)) {
        if (core->neff) {
            add_group(f, core, instruction->engine, &instr);
        }
    } else if (ntk_open_slot_decode(core, instruction, &instr)) {
        if (ntk_isa_ends_later(instr.op)) {
            add_open(f, core, &instr);
        }
    } else if (slot && slot[0] == NTK_NTFF_OPCODE_DMA_DIRECT2D && trace->has_chip &&
               ntk_vendor_slot_has_layout(trace->chip.generation)) {
        add_vendor(f, core, instruction, slot);
    }
    return f->has_op;
}

/* ---- texts ---- */

static char *text_of(const struct side *side)
{
    struct ntk_buf buf = { 0 };

    ntk_map_each(name, &side->names) {
        ntk_buf_add_text(&buf, buf.bytes_count ? ", " : "");
        ntk_buf_add_text(&buf, name->key);
    }
    ntk_buf_add_char(&buf, '\0');
    return ntk_buf_take(&buf, &(size_t){ 0 });
}

static char *json_of(const struct side *side, bool is_nested)
{
    struct ntk_buf buf = { 0 };

    ntk_buf_add_char(&buf, '[');
    ntk_map_each(name, &side->names) {
        ntk_buf_add_text(&buf, name == side->names.entries ? "" : ",");
        ntk_buf_add_text(&buf, is_nested ? "[" : "");
        ntk_json_add_quoted(&buf, name->key);
        ntk_buf_add_text(&buf, is_nested ? "]" : "");
    }
    ntk_buf_add_text(&buf, "]");
    ntk_buf_add_char(&buf, '\0');
    return ntk_buf_take(&buf, &(size_t){ 0 });
}

static void put_texts(struct filling *f)
{
    for (unsigned s = 0; s < NTK_MOVES_SIDE_COUNT; s++) {
        const struct side *side = &f->sides[s];
        if (side->has_unknown || side->names.count == 0) {
            continue;
        }
        f->moves->sides[s] = text_of(side);
        f->moves->json[s] = json_of(side, s == NTK_MOVES_SOURCE);
        if (!f->moves->sides[s] || !f->moves->json[s]) {
            f->failed = -ENOMEM;
        }
    }
    if (f->is_many) {
        f->moves->op = NULL;
    }
    if (f->tensors.count == 1 && !f->sides[0].has_unknown && !f->sides[1].has_unknown) {
        f->moves->variable = f->tensors.entries[0].value;
    }
}

int ntk_moves_create(const struct ntk_trace *trace, const struct ntk_trace_core *core,
                     const struct ntk_trace_instruction *instruction, struct ntk_moves **out_moves)
{
    struct filling f = { .moves = calloc(1, sizeof *f.moves) };
    bool is_found = false;

    *out_moves = NULL;
    if (!f.moves) {
        return -ENOMEM;
    }
    f.moves->is_plain = true;
    f.moves->is_load = true;
    is_found = find(&f, trace, core, instruction);
    if (is_found && !f.failed) {
        put_texts(&f);
    }
    for (unsigned s = 0; s < NTK_MOVES_SIDE_COUNT; s++) {
        ntk_map_fini(&f.sides[s].names);
    }
    ntk_map_fini(&f.tensors);
    if (!is_found || f.failed) {
        ntk_moves_destroy(f.moves);
        return f.failed;
    }
    *out_moves = f.moves;
    return 0;
}

void ntk_moves_destroy(struct ntk_moves *moves)
{
    if (moves) {
        for (unsigned s = 0; s < NTK_MOVES_SIDE_COUNT; s++) {
            free(moves->sides[s]);
            free(moves->json[s]);
        }
        free(moves);
    }
}
