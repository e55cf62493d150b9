/* SPDX-License-Identifier: MIT */
#include "profiler/output/tables/operands.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/open_slot.h"
#include "profiler/analysis/slot_codes.h"
#include "shared/base/buf.h"
#include "shared/formats/neff/isa_text.h"
#include "shared/formats/neff/vendor_names.h"
#include "shared/formats/neff/vendor_slot.h"

#define SETS 4096
#define WAYS 2      /* entries per set; the least recently used entry is replaced */
#define RECENT 1024 /* number of codes with texts that are found without reading the bytes */
#define NO_TEXT UINT32_MAX

/* Bytes that determine an instruction's texts, then the texts. */
struct place {
    uint64_t hash; /* hash of the following bytes; 0 if empty */
    uint32_t core_index;
    uint16_t key_bytes;
    uint8_t engine;
    bool is_known;
    /* Offsets in the text; NO_TEXT if absent. */
    uint32_t operation, operands, compiler_operands, function;
    struct ntk_buf text;
    uint64_t marks[NTK_OPERANDS_MARKS];
    const struct ntk_slot_code *code; /* the last one with these bytes; NULL if unknown */
};

struct set {
    struct place ways[WAYS];
    uint8_t last; /* most recently used entry */
};

struct recent {
    const struct ntk_slot_code *code;
    struct set *set;
    uint8_t way;
};

/* The key of an instruction. */
struct key {
    size_t core_index;
    const struct ntk_trace_instruction *instruction;
    const uint8_t *slot, *pseudo; /* pseudo is the compiler's slot; NULL if none */
    size_t left;                  /* number of bytes from slot on */
    uint64_t hash;
};

struct core_names {
    bool is_made;
    struct ntk_vendor_names names;
};

struct ntk_operands {
    const struct ntk_trace *trace;
    struct core_names *cores;
    struct set sets[SETS];
    struct recent recent[RECENT];
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
    for (size_t i = 0; i < SETS * WAYS; i++) {
        ntk_buf_fini(&operands->sets[i / WAYS].ways[i % WAYS].text);
    }
    for (size_t c = 0; c < operands->trace->core_count; c++) {
        ntk_vendor_names_fini(&operands->cores[c].names);
    }
    free(operands->cores);
    free(operands);
}

/* Ends the previous text and begins the next. */
static uint32_t begin_text(struct place *place)
{
    ntk_buf_add_char(&place->text, '\0');
    return (uint32_t)place->text.bytes_count;
}

/* Prints the line of a listing without the layer's number, which has a separate column. */
static void print_open(struct place *place, struct ntk_isa_instr *instr)
{
    instr->name_id = 0;
    ntk_isa_text_print(instr, &place->text);
    if (!ntk_buf_ok(&place->text)) {
        return;
    }
    char *text = place->text.bytes + place->key_bytes;
    char *blank = strchr(text, ' ');
    place->operation = place->key_bytes;
    place->operands = (uint32_t)((blank ? blank + 1 : text + strlen(text)) - place->text.bytes);
    if (blank) {
        *blank = '\0';
    }
}

/* Returns the compiler's slot if the loaded program differs; else NULL. */
static const uint8_t *compiler_slot(const struct ntk_trace_core *core,
                                    const struct ntk_trace_instruction *instruction)
{
    const struct ntk_neff_engine *engine =
        core->neff ? &core->neff->engines[instruction->engine] : NULL;

    if (!engine || instruction->opcode != NTK_NTFF_OPCODE_DMA_DIRECT2D) {
        return NULL;
    }
    int64_t pc = ntk_ntff_compiler_pc(core->ntff, instruction->engine, instruction->slot);
    if (pc < 0 || (uint64_t)pc >= engine->code_bytes / NTK_VENDOR_SLOT_BYTES) {
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

static void print_vendor(struct ntk_operands *operands, struct place *place, const struct key *key)
{
    const struct ntk_vendor_names *names = names_of(operands, key->core_index);

    if (!names) {
        place->is_known = false;
        return;
    }
    place->operands = place->key_bytes;
    ntk_vendor_slot_print(key->slot, names, &place->text);
    place->function = begin_text(place);
    ntk_vendor_slot_print_function(key->slot, names, &place->text);
    if (key->pseudo) {
        place->operation = begin_text(place);
        ntk_buf_add_text(&place->text, ntk_vendor_slot_pseudo_name(key->pseudo[0]));
        place->compiler_operands = begin_text(place);
        ntk_vendor_slot_print(key->pseudo, names, &place->text);
    }
}

static size_t open_slots(const struct ntk_isa_instr *instr)
{
    size_t slots = 1;

    for (unsigned role = 0; role < NTK_ISA_OPERAND_COUNT; role++) {
        slots += instr->operand[role].space != NTK_ISA_SPACE_NONE;
    }
    return slots;
}

static void add_key(struct place *place, const struct key *key, size_t slots)
{
    ntk_buf_add(&place->text, key->slot, slots * NTK_VENDOR_SLOT_BYTES);
    if (key->pseudo) {
        ntk_buf_add(&place->text, key->pseudo, NTK_VENDOR_SLOT_BYTES);
    }
    place->key_bytes = (uint16_t)place->text.bytes_count;
}

/* Inlined, its decoded instruction would be on the stack of each look-up. */
static void __attribute__((noinline))
print(struct ntk_operands *operands, struct place *place, const struct key *key)
{
    const struct ntk_trace *trace = operands->trace;
    const struct ntk_trace_core *core = &trace->cores[key->core_index];
    struct ntk_isa_instr instr;

    ntk_buf_reset(&place->text);
    place->hash = key->hash;
    place->code = NULL;
    place->core_index = (uint32_t)key->core_index;
    place->engine = key->instruction->engine;
    place->operation = place->operands = NO_TEXT;
    place->compiler_operands = place->function = NO_TEXT;
    place->is_known = true;
    memset(place->marks, 0, sizeof place->marks);
    if (ntk_open_slot_decode(core, key->instruction, &instr)) {
        add_key(place, key, open_slots(&instr));
        print_open(place, &instr);
    } else {
        add_key(place, key, 1);
        if (trace->has_chip && ntk_vendor_slot_has_layout(trace->chip.generation)) {
            print_vendor(operands, place, key);
        } else {
            place->is_known = false;
        }
    }
    if (!ntk_buf_ok(&place->text)) {
        place->is_known = false;
        place->hash = 0;
    }
}

/* Returns true if the bytes are equal. Slots of an open instruction contain their count, so equal
 * starts have equal lengths. */
static bool is_same(const struct place *place, const struct key *key)
{
    size_t slot_bytes = place->key_bytes - (key->pseudo ? NTK_VENDOR_SLOT_BYTES : 0);

    return place->hash == key->hash && place->core_index == key->core_index &&
           place->engine == key->instruction->engine && slot_bytes <= key->left &&
           ntk_slot_is_same(place->text.bytes, key->slot) &&
           (slot_bytes == NTK_VENDOR_SLOT_BYTES ||
            memcmp(place->text.bytes, key->slot, slot_bytes) == 0) &&
           (!key->pseudo || ntk_slot_is_same(place->text.bytes + slot_bytes, key->pseudo));
}

static bool put_texts(struct place *place, struct ntk_operands_text *out_text)
{
    const char *text = ntk_buf_text_get(&place->text);

    if (!place->is_known) {
        return false;
    }
#define TEXT(member) (place->member == NO_TEXT ? NULL : text + place->member)
    *out_text = (struct ntk_operands_text){ TEXT(operation), TEXT(operands),
                                            TEXT(compiler_operands), TEXT(function), place->marks };
#undef TEXT
    return true;
}

/* Instructions with the same bytes share their texts: an unrolled program has each text once.
 * Returns the most recently used set; NULL if the slot is not in the file. */
static struct set *find_set(struct ntk_operands *operands, size_t core_index,
                            const struct ntk_trace_instruction *instruction)
{
    const struct ntk_trace_core *core = &operands->trace->cores[core_index];
    const struct ntk_ntff_buffer *buffer = core->ntff->engine_buffers[instruction->engine];
    struct key key = { .core_index = core_index, .instruction = instruction };

    key.slot = ntk_ntff_slot_get(core->ntff, instruction->engine, instruction->slot);
    if (!key.slot) {
        return NULL;
    }
    key.left = (size_t)(buffer->code_bytes - (uint64_t)(key.slot - buffer->code));
    key.pseudo = compiler_slot(core, instruction);
    key.hash = ntk_slot_hash(core_index * NTK_NTFF_ENGINE_COUNT + instruction->engine, key.slot);
    key.hash = (key.pseudo ? ntk_slot_hash(key.hash, key.pseudo) : key.hash) | 1;
    struct set *set = &operands->sets[(key.hash >> 32) % SETS];
    if (!is_same(&set->ways[set->last], &key)) {
        set->last ^= 1;
        if (!is_same(&set->ways[set->last], &key)) {
            print(operands, &set->ways[set->last], &key);
        }
    }
    return set;
}

bool ntk_operands_get(struct ntk_operands *operands, size_t core_index,
                      const struct ntk_trace_instruction *instruction,
                      struct ntk_operands_text *out_text)
{
    struct set *set = find_set(operands, core_index, instruction);

    return set && put_texts(&set->ways[set->last], out_text);
}

bool ntk_operands_of_code(struct ntk_operands *operands, const struct ntk_slot_code *code,
                          const struct ntk_trace_instruction *instruction,
                          struct ntk_operands_text *out_text)
{
    struct recent *recent = &operands->recent[code->number % RECENT];

    if (recent->code != code || recent->set->ways[recent->way].code != code) {
        struct set *set = find_set(operands, code->core_index, instruction);
        if (!set) {
            return false;
        }
        set->ways[set->last].code = code;
        *recent = (struct recent){ code, set, set->last };
    }
    recent->set->last = recent->way;
    return put_texts(&recent->set->ways[recent->way], out_text);
}
