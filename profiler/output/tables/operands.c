/* SPDX-License-Identifier: MIT */
#include "profiler/output/tables/operands.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/open_slot.h"
#include "shared/base/buf.h"
#include "shared/formats/neff/isa_text.h"
#include "shared/formats/neff/vendor_names.h"
#include "shared/formats/neff/vendor_slot.h"

#define PLACES 4096
#define NO_TEXT SIZE_MAX

struct place {
    uint64_t key; /* of the instruction, + 1; 0: nobody's */
    bool is_known;
    /* Where each begins in the text, NO_TEXT: absent. */
    size_t operation, operands, compiler_operands, function;
    struct ntk_buf text;
};

struct core_names {
    bool is_made;
    struct ntk_vendor_names names;
};

struct ntk_operands {
    const struct ntk_trace *trace;
    struct core_names *cores;
    struct place places[PLACES];
};

struct ntk_operands *ntk_operands_create(const struct ntk_trace *trace)
{
    struct ntk_operands *operands = calloc(1, sizeof *operands);

    if (operands) {
        operands->trace = trace;
        operands->cores = calloc(trace->core_count + 1, sizeof *operands->cores);
    }
    if (!operands || !operands->cores) {
        free(operands);
        return NULL;
    }
    return operands;
}

void ntk_operands_destroy(struct ntk_operands *operands)
{
    if (!operands) {
        return;
    }
    for (size_t i = 0; i < PLACES; i++) {
        ntk_buf_fini(&operands->places[i].text);
    }
    for (size_t c = 0; c < operands->trace->core_count; c++) {
        ntk_vendor_names_fini(&operands->cores[c].names);
    }
    free(operands->cores);
    free(operands);
}

/* Ends the text before it. */
static size_t begin_text(struct place *place)
{
    ntk_buf_add_char(&place->text, '\0');
    return place->text.bytes_count;
}

/* The line of a listing, without the number of the layer: that has its own column. */
static void print_open(struct place *place, struct ntk_isa_instr *instr)
{
    instr->name_id = 0;
    ntk_isa_text_print(instr, &place->text);
    if (!ntk_buf_ok(&place->text)) {
        return;
    }
    char *text = (char *)ntk_buf_text_get(&place->text);
    size_t length = strcspn(text, " ");
    place->operation = 0;
    place->operands = text[length] ? length + 1 : length;
    text[length] = '\0';
}

/* What the compiler wrote where the loaded program has something else; NULL: nothing such. */
static const uint8_t *compiler_slot(const struct ntk_trace_core *core,
                                    const struct ntk_trace_instruction *instruction)
{
    int64_t pc = ntk_ntff_compiler_pc(core->ntff, instruction->engine, instruction->slot);
    const struct ntk_neff_engine *engine =
        core->neff ? &core->neff->engines[instruction->engine] : NULL;

    if (!engine || instruction->opcode != NTK_NTFF_OPCODE_DMA_DIRECT2D || pc < 0 ||
        (uint64_t)pc >= engine->code_bytes / NTK_VENDOR_SLOT_BYTES) {
        return NULL;
    }
    const uint8_t *slot = engine->code + (size_t)pc * NTK_VENDOR_SLOT_BYTES;
    return slot[0] == NTK_VENDOR_OPCODE_PSEUDO_TRANSFER ? slot : NULL;
}

static const struct ntk_vendor_names *names_of(struct ntk_operands *operands, size_t core_index)
{
    struct core_names *core = &operands->cores[core_index];

    if (!core->is_made) {
        core->is_made = ntk_vendor_names_init(&core->names, operands->trace->neff,
                                              operands->trace->cores[core_index].neff,
                                              ntk_ntff_queue_name_show) == 0;
    }
    return core->is_made ? &core->names : NULL;
}

static void print_vendor(struct ntk_operands *operands, struct place *place, size_t core_index,
                         const struct ntk_trace_instruction *instruction, const uint8_t *slot)
{
    const struct ntk_trace_core *core = &operands->trace->cores[core_index];
    const struct ntk_vendor_names *names = names_of(operands, core_index);
    const uint8_t *pseudo = compiler_slot(core, instruction);

    if (!names) {
        place->is_known = false;
        return;
    }
    place->operands = 0;
    ntk_vendor_slot_print(slot, names, &place->text);
    place->function = begin_text(place);
    ntk_vendor_slot_print_function(slot, names, &place->text);
    if (pseudo) {
        place->operation = begin_text(place);
        ntk_buf_add_text(&place->text, ntk_vendor_slot_pseudo_name(pseudo[0]));
        place->compiler_operands = begin_text(place);
        ntk_vendor_slot_print(pseudo, names, &place->text);
    }
}

static void print(struct ntk_operands *operands, struct place *place, size_t core_index,
                  const struct ntk_trace_instruction *instruction)
{
    const struct ntk_trace *trace = operands->trace;
    const struct ntk_trace_core *core = &trace->cores[core_index];
    const uint8_t *slot = ntk_ntff_slot_get(core->ntff, instruction->engine, instruction->slot);
    struct ntk_isa_instr instr;

    ntk_buf_reset(&place->text);
    place->operation = place->operands = NO_TEXT;
    place->compiler_operands = place->function = NO_TEXT;
    place->is_known = true;
    if (ntk_open_slot_decode(core, instruction, &instr)) {
        print_open(place, &instr);
    } else if (slot && trace->has_chip && ntk_vendor_slot_has_layout(trace->chip.generation)) {
        print_vendor(operands, place, core_index, instruction, slot);
    } else {
        place->is_known = false;
    }
    place->is_known = place->is_known && ntk_buf_ok(&place->text);
}

bool ntk_operands_get(struct ntk_operands *operands, size_t core_index,
                      const struct ntk_trace_instruction *instruction,
                      struct ntk_operands_text *out_text)
{
    uint64_t key = 1 + (((uint64_t)core_index * NTK_NTFF_ENGINE_COUNT + instruction->engine) << 32 |
                        instruction->slot);
    /* Engines have their parts, so that programs of different engines do not push each other
     * out. */
    size_t at =
        (instruction->slot + (size_t)instruction->engine * (PLACES / NTK_NTFF_ENGINE_COUNT)) %
        PLACES;
    struct place *place = &operands->places[at];

    if (place->key != key) {
        place->key = key;
        print(operands, place, core_index, instruction);
    }
    if (!place->is_known) {
        return false;
    }
    const char *text = ntk_buf_text_get(&place->text);
#define TEXT(member) (place->member == NO_TEXT ? NULL : text + place->member)
    *out_text = (struct ntk_operands_text){ TEXT(operation), TEXT(operands),
                                            TEXT(compiler_operands), TEXT(function) };
#undef TEXT
    return true;
}
