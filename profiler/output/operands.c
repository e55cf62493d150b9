/* SPDX-License-Identifier: MIT */
#include "profiler/output/operands.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/open_slot.h"
#include "shared/base/buf.h"
#include "shared/formats/neff/isa_text.h"

#define PLACES 4096

struct place {
    uint64_t key; /* of the instruction, + 1; 0: nobody's */
    bool is_open;
    size_t operands_at; /* in the text; the word before is the operation */
    struct ntk_buf text;
};

struct ntk_operands {
    struct place places[PLACES];
};

struct ntk_operands *ntk_operands_create(void)
{
    return calloc(1, sizeof(struct ntk_operands));
}

void ntk_operands_destroy(struct ntk_operands *operands)
{
    if (!operands) {
        return;
    }
    for (size_t i = 0; i < PLACES; i++) {
        ntk_buf_fini(&operands->places[i].text);
    }
    free(operands);
}

/* The line of a listing, without the number of the layer: that has its own column. */
static void print(struct place *place, const struct ntk_trace_core *core,
                  const struct ntk_trace_instruction *instruction)
{
    struct ntk_isa_instr instr;

    ntk_buf_reset(&place->text);
    place->is_open = ntk_open_slot_decode(core, instruction, &instr);
    if (!place->is_open) {
        return;
    }
    instr.name_id = 0;
    ntk_isa_text_print(&instr, &place->text);
    if (!ntk_buf_ok(&place->text)) {
        place->is_open = false;
        return;
    }
    char *text = (char *)ntk_buf_text_get(&place->text);
    size_t length = strcspn(text, " ");
    place->operands_at = text[length] ? length + 1 : length;
    text[length] = '\0';
}

bool ntk_operands_get(struct ntk_operands *operands, const struct ntk_trace_core *core,
                      size_t core_index, const struct ntk_trace_instruction *instruction,
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
        print(place, core, instruction);
    }
    if (!place->is_open) {
        return false;
    }
    const char *text = ntk_buf_text_get(&place->text);
    *out_text = (struct ntk_operands_text){ text, text + place->operands_at };
    return true;
}
