/* SPDX-License-Identifier: MIT */
#include "profiler/analysis/slot_codes.h"

#include <stdlib.h>

#include "shared/formats/neff/isa.h"

enum {                      /* bytes of an open instruction */
       FOLLOWING_SLOTS = 2, /* number of slots that belong to it */
       OPERATION = 16,      /* two bytes */
};

static const uint8_t *slot_of(const struct ntk_trace_core *core, unsigned engine, uint32_t slot)
{
    return ntk_ntff_slot_get(core->ntff, engine, slot);
}

size_t ntk_slot_codes_place(const struct ntk_trace_core *core, size_t core_index,
                            const struct ntk_trace_instruction *instruction)
{
    const uint8_t *slot = slot_of(core, instruction->engine, instruction->slot);
    uint64_t hash = core_index * NTK_NTFF_ENGINE_COUNT + instruction->engine;

    return slot ? ntk_slot_hash(hash, slot) >> 32 & (NTK_SLOT_CODES - 1) : NTK_SLOT_CODES;
}

/* Returns true if the slots after two equal slots are also equal, as far as they belong to the
 * instruction. In other encodings the byte means something else, and slots may be compared for
 * nothing. */
static bool continues_alike(const struct ntk_ntff_buffer *buffer, const uint8_t *a,
                            const uint8_t *b)
{
    const uint8_t *end =
        buffer->code + buffer->code_bytes / NTK_NTFF_SLOT_BYTES * NTK_NTFF_SLOT_BYTES;
    size_t bytes = (size_t)a[FOLLOWING_SLOTS] * NTK_NTFF_SLOT_BYTES;

    a += NTK_NTFF_SLOT_BYTES;
    b += NTK_NTFF_SLOT_BYTES;
    return bytes <= (size_t)(end - a) && bytes <= (size_t)(end - b) && memcmp(a, b, bytes) == 0;
}

struct ntk_slot_code *ntk_slot_codes_find(const struct ntk_slot_codes *codes, size_t place,
                                          const struct ntk_trace_core *core, size_t core_index,
                                          const struct ntk_trace_instruction *instruction,
                                          bool is_runtime)
{
    struct ntk_slot_code *code = place < NTK_SLOT_CODES ? codes->of[place] : NULL;

    if (!code || code->core_index != core_index || code->engine != instruction->engine ||
        code->is_runtime != is_runtime) {
        return NULL;
    }
    const uint8_t *slot = slot_of(core, instruction->engine, instruction->slot);
    const uint8_t *known = codes->slots[place];
    if (!ntk_slot_is_same(slot, known) ||
        (code->is_open && slot[FOLLOWING_SLOTS] &&
         !continues_alike(core->ntff->engine_buffers[instruction->engine], slot, known))) {
        return NULL;
    }
    code->slot = instruction->slot < code->slot ? instruction->slot : code->slot;
    return code;
}

/* Returns true for an instruction in the open encoding, even if the slots after it are damaged. */
static bool names_operation(const uint8_t *slot)
{
    const struct ntk_isa_op_info *info =
        ntk_isa_op_info_get(slot[OPERATION] | (unsigned)slot[OPERATION + 1] << 8);

    return info && info->opcode == slot[0];
}

void ntk_slot_codes_share(struct ntk_slot_codes *codes, size_t place,
                          const struct ntk_trace_core *core, struct ntk_slot_code *code)
{
    if (place < NTK_SLOT_CODES) {
        const uint8_t *slot = slot_of(core, code->engine, code->slot);
        bool is_damaged = !code->is_open && slot[FOLLOWING_SLOTS] && names_operation(slot);

        codes->of[place] = is_damaged ? NULL : code;
        codes->slots[place] = slot;
    }
}

struct ntk_slot_code *ntk_slot_codes_add(struct ntk_program *program)
{
    size_t block = program->code_count / NTK_PROGRAM_CODES;

    if (program->code_count % NTK_PROGRAM_CODES == 0) {
        struct ntk_slot_code **blocks = realloc(program->codes, (block + 1) * sizeof *blocks);
        if (!blocks) {
            return NULL;
        }
        program->codes = blocks;
        blocks[block] = calloc(NTK_PROGRAM_CODES, sizeof **blocks);
        if (!blocks[block]) {
            return NULL;
        }
    }
    struct ntk_slot_code *code = &program->codes[block][program->code_count % NTK_PROGRAM_CODES];
    code->number = (uint32_t)program->code_count++;
    return code;
}

void ntk_slot_codes_free(struct ntk_program *program)
{
    for (size_t i = 0; i < program->code_count; i++) {
        ntk_moves_destroy(ntk_program_code(program, i)->moves);
    }
    for (size_t i = 0; i < program->code_count; i += NTK_PROGRAM_CODES) {
        free(program->codes[i / NTK_PROGRAM_CODES]);
    }
    free(program->codes);
}
