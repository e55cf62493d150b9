/* SPDX-License-Identifier: MIT */
#include "profiler/packager/packager_listing.h"

#include <errno.h>
#include <string.h>

#include "shared/formats/neff/isa_text.h"
#include "shared/formats/neff/vendor_slot.h"
#include "shared/formats/ntff/ntff.h"

bool packager_engine_is_vendor(const struct ntk_neff_engine *engine)
{
    return engine->nsx_version == 0 && !engine->is_empty;
}

int packager_listing_begin(struct packager_listing *listing, const struct ntk_neff *neff,
                           const struct ntk_neff_kelf *kelf,
                           const struct ntk_neff_subgraph *subgraph, struct ntk_err *out_warning)
{
    *listing = (struct packager_listing){ .neff = neff, .kelf = kelf, .subgraph = subgraph };
    out_warning->text[0] = '\0';
    int ret = ntk_neff_debug_create(neff, subgraph, &listing->debug, out_warning);
    if (ret < 0 && ret != -ENOMEM) {
        ret = 0;
    }
    ret = ret < 0 ? ret : ntk_neff_positions_create(neff, &listing->debug, 1, &listing->positions);
    return ret < 0 || !neff->is_vendor
               ? ret
               : ntk_vendor_names_init(&listing->names, neff, subgraph, ntk_ntff_queue_name_show);
}

void packager_listing_end(struct packager_listing *listing)
{
    ntk_vendor_names_fini(&listing->names);
    ntk_neff_positions_destroy(listing->positions);
    ntk_neff_debug_destroy(listing->debug);
    *listing = (struct packager_listing){ 0 };
}

/* Returns true if slots of the kernel's generation are known. */
static bool is_known_target(const char *target)
{
    return strcmp(target, "sunda") == 0 || strcmp(target, "cayman") == 0 ||
           strcmp(target, "mariana") == 0;
}

static void add_bytes(struct ntk_buf *out, const uint8_t *slot)
{
    ntk_buf_add_text(out, "bytes=");
    for (unsigned i = 2; i < NTK_VENDOR_SLOT_BYTES; i++) {
        ntk_buf_add_format(out, "%02x", slot[i]);
    }
}

void packager_listing_locate(const struct packager_listing *listing, enum ntk_isa_engine which,
                             struct packager_instruction *instruction)
{
    instruction->positions = listing->positions;
    instruction->at =
        ntk_neff_position_get(listing->positions, 0, which, (int64_t)instruction->slot);
}

static void names_find(const struct packager_listing *listing, enum ntk_isa_engine which,
                       struct packager_instruction *instruction)
{
    const struct ntk_neff_debug_instruction *found;

    if (!listing->debug ||
        !ntk_neff_debug_bir_id(listing->debug, which, instruction->slot, &instruction->bir_id)) {
        return;
    }
    instruction->has_bir_id = true;
    found = ntk_neff_debug_find(listing->debug, instruction->bir_id);
    if (found) {
        instruction->name = found->name;
        instruction->statement = found->penguin_text;
    }
    packager_listing_locate(listing, which, instruction);
}

static int each_of_vendor(const struct packager_listing *listing, enum ntk_isa_engine which,
                          int (*each)(const struct packager_instruction *instruction, void *ctx),
                          void *ctx, struct ntk_err *err)
{
    const struct ntk_neff_engine *engine = &listing->subgraph->engines[which];
    bool is_known = is_known_target(listing->kelf->target);
    struct packager_triggers triggers = { 0 };
    struct ntk_buf operands = { 0 };
    char opcode[16];
    int ret = packager_triggers_init(&triggers, listing->subgraph, which);

    if (ret < 0) {
        return ntk_err_no_memory(err);
    }

    for (size_t i = 0; i < engine->code_bytes / NTK_VENDOR_SLOT_BYTES && ret >= 0; i++) {
        const uint8_t *slot = engine->code + i * NTK_VENDOR_SLOT_BYTES;
        const char *pseudo = ntk_vendor_slot_pseudo_name(slot[0]);
        struct packager_figures figures;
        struct packager_instruction instruction = { .slot = i, .name = "" };

        ntk_buf_reset(&operands);
        if (is_known) {
            packager_figures_get(&triggers, slot, &figures);
            instruction.figures = &figures;
            ntk_vendor_slot_print(slot, &listing->names, &operands);
        } else {
            add_bytes(&operands, slot);
        }
        instruction.opcode = pseudo ? pseudo : ntk_ntff_opcode_name(slot[0], opcode, sizeof opcode);
        names_find(listing, which, &instruction);
        if (!ntk_buf_ok(&operands)) {
            ret = ntk_err_no_memory(err);
            break;
        }
        instruction.operands = ntk_buf_text_get(&operands);
        ret = each(&instruction, ctx);
    }
    packager_triggers_fini(&triggers);
    ntk_buf_fini(&operands);
    return ret < 0 ? ret : 0;
}

static int each_of_ours(const struct packager_listing *listing, enum ntk_isa_engine which,
                        int (*each)(const struct packager_instruction *instruction, void *ctx),
                        void *ctx, struct ntk_err *err)
{
    const struct ntk_neff_engine *engine = &listing->subgraph->engines[which];
    struct ntk_buf text = { 0 };
    int ret = 0;

    for (size_t at = 0, slots = 0; at < engine->code_bytes && ret >= 0;
         at += slots * NTK_ISA_SLOT_BYTES) {
        struct packager_instruction instruction = { .slot = at / NTK_ISA_SLOT_BYTES, .name = "" };
        struct ntk_isa_instr instr;

        ret =
            ntk_isa_decode(engine->code + at, engine->code_bytes - at, which, &instr, &slots, err);
        if (ret < 0) {
            break;
        }
        packager_listing_locate(listing, which, &instruction);
        if (instr.name_id > 0 && instr.name_id <= engine->name_count) {
            instruction.name = engine->names[instr.name_id - 1];
        }
        instr.name_id = 0; /* the number is not needed in addition to the name */
        ntk_buf_reset(&text);
        ntk_isa_text_print(&instr, &text);
        if (!ntk_buf_ok(&text)) {
            ret = ntk_err_no_memory(err);
            break;
        }
        char *words = (char *)ntk_buf_text_get(&text);
        size_t length = strcspn(words, " ");
        instruction.operands = words[length] ? words + length + 1 : words + length;
        words[length] = '\0';
        instruction.opcode = words;
        ret = each(&instruction, ctx);
    }
    ntk_buf_fini(&text);
    return ret < 0 ? ret : 0;
}

int packager_listing_each(const struct packager_listing *listing, enum ntk_isa_engine which,
                          int (*each)(const struct packager_instruction *instruction, void *ctx),
                          void *ctx, struct ntk_err *err)
{
    const struct ntk_neff_engine *engine = &listing->subgraph->engines[which];

    if (engine->is_empty) {
        return 0;
    }
    return packager_engine_is_vendor(engine) ? each_of_vendor(listing, which, each, ctx, err)
                                             : each_of_ours(listing, which, each, ctx, err);
}
