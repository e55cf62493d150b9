/* SPDX-License-Identifier: MIT */
/* neff_debug - the three levels read field by field: what is kept goes by what a member holds. */
#include "shared/formats/neff/neff_debug.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"
#include "shared/formats/common/protobuf.h"

#define ID_END (UINT64_C(1) << NTK_NEFF_DEBUG_ID_BITS)
#define TEXT_BYTES_MAX ((size_t)4096) /* what is longer is cut */
#define ENGINE_FILES 6                /* and transfers, which are no engine's program */

enum { /* fields of a member and of its entries */
       FIELD_ENTRY = 3,
       FIELD_ASM_BIR_IDS = 3,
       FIELD_ID = 1,
       FIELD_TEXT = 2,
       FIELD_PENGUIN_IDS = 3,
       FIELD_PREDECESSORS = 4,
       FIELD_ENFORCED = 5,
       FIELD_KINDS = 9,
       FIELD_ENFORCED_KINDS = 10,
};

static const char *const engine_files[ENGINE_FILES] = {
    [NTK_ISA_ENGINE_PE] = "PE",     [NTK_ISA_ENGINE_ACT] = "Activation",
    [NTK_ISA_ENGINE_POOL] = "Pool", [NTK_ISA_ENGINE_DVE] = "DVE",
    [NTK_ISA_ENGINE_SP] = "SP",     [NTK_ISA_ENGINE_COUNT] = "DMA",
};

struct penguin {
    uint64_t id;
    size_t text_at;
};

struct reader {
    struct ntk_neff_debug *debug;
    struct ntk_vec instructions; /* struct ntk_neff_debug_instruction; name: 1 + place in texts */
    struct ntk_vec predecessors; /* struct ntk_neff_predecessor */
    struct ntk_vec penguins;     /* struct penguin */
    struct ntk_buf texts;
    uint64_t memory_left; /* all lists may take */
    /* The member that is read. */
    const struct ntk_neff_member *member;
    struct ntk_vec slots;
    size_t entry_count;
    struct ntk_err *err;
};

/* Where in the member something lies that is not as it should be. */
static int damaged(struct reader *r, const uint8_t *at, const char *what)
{
    return ntk_err_set(r->err, -EBADMSG, (uint64_t)(at - r->member->bytes), "%s: %s",
                       r->member->name, what);
}

static int add_text(struct reader *r, const struct ntk_protobuf_field *field, size_t *out_at)
{
    size_t bytes = field->bytes_count < TEXT_BYTES_MAX ? field->bytes_count : TEXT_BYTES_MAX;
    size_t room = bytes * 3 + 1; /* U+FFFD for each */

    *out_at = r->texts.bytes_count;
    char *to = ntk_buf_extend(&r->texts, room);
    if (!to) {
        return ntk_err_no_memory(r->err);
    }
    to[0] = '\0';
    if (bytes) {
        ntk_str_copy_clean(to, room, (const char *)field->bytes, bytes);
    }
    r->texts.bytes_count = *out_at + strlen(to) + 1;
    return 0;
}

/* The first number of a packed list that is an id; -ENOENT: the list is empty. */
static int first_id(struct reader *r, const struct ntk_protobuf_field *list, uint64_t *out_id)
{
    size_t position = 0;

    if (!list->bytes_count) {
        return -ENOENT;
    }
    if (!ntk_protobuf_next_packed(list, &position, out_id) || *out_id >= ID_END) {
        return damaged(r, list->bytes, "an id is no number below 2^48");
    }
    return 0;
}

/* The fields of an entry that are wanted, the last of each number. */
#define FIELDS (FIELD_ENFORCED_KINDS + 1)
static int read_fields(struct reader *r, const struct ntk_protobuf_field *entry,
                       struct ntk_protobuf_field fields[FIELDS])
{
    static const bool is_list[FIELDS] = {
        [FIELD_TEXT] = true,     [FIELD_PENGUIN_IDS] = true, [FIELD_PREDECESSORS] = true,
        [FIELD_ENFORCED] = true, [FIELD_KINDS] = true,       [FIELD_ENFORCED_KINDS] = true
    };
    struct ntk_protobuf_field field;
    size_t position = 0;

    memset(fields, 0, FIELDS * sizeof *fields);
    while (ntk_protobuf_next(entry->bytes, entry->bytes_count, &position, &field)) {
        if (field.number >= FIELDS) {
            continue;
        }
        if ((is_list[field.number] && !field.bytes) || (field.number == FIELD_ID && field.bytes)) {
            return damaged(r, entry->bytes, "a field of an entry is of another type");
        }
        fields[field.number] = field;
    }
    if (position != entry->bytes_count) {
        return damaged(r, entry->bytes + position, "an entry does not end with a whole field");
    }
    if (fields[FIELD_ID].value >= ID_END) {
        return damaged(r, entry->bytes, "an id is no number below 2^48");
    }
    return 0;
}

/* ---- the levels ---- */

static int read_asm_entry(struct reader *r, const struct ntk_protobuf_field *entry)
{
    struct ntk_protobuf_field fields[FIELDS];
    uint64_t *slot = ntk_vec_add(&r->slots);
    uint64_t id = 0;

    if (!slot) {
        return ntk_err_no_memory(r->err);
    }
    int ret = read_fields(r, entry, fields);
    if (ret == 0) {
        ret = first_id(r, &fields[FIELD_ASM_BIR_IDS], &id);
        *slot = ret == 0 ? id + 1 : 0;
    }
    return ret == -ENOENT ? 0 : ret;
}

static int add_predecessors(struct reader *r, const struct ntk_protobuf_field *ids,
                            const struct ntk_protobuf_field *kinds)
{
    size_t id_at = 0;
    size_t kind_at = 0;

    while (id_at < ids->bytes_count) {
        struct ntk_neff_predecessor one = { 0 };

        if (!ntk_protobuf_next_packed(ids, &id_at, &one.bir_id) || one.bir_id >= ID_END) {
            return damaged(r, ids->bytes, "an id is no number below 2^48");
        }
        if (kinds->bytes_count && !ntk_protobuf_next_packed(kinds, &kind_at, &one.kind)) {
            return damaged(r, kinds->bytes, "predecessors and their kinds differ in number");
        }
        if (r->predecessors.count == NTK_NEFF_DEBUG_PREDECESSORS_MAX) {
            return damaged(r, ids->bytes, "there are more than 67108864 predecessors");
        }
        if (ntk_vec_push(&r->predecessors, &one) < 0) {
            return ntk_err_no_memory(r->err);
        }
    }
    return kind_at == kinds->bytes_count
               ? 0
               : damaged(r, kinds->bytes, "predecessors and their kinds differ in number");
}

/* By id; what tells its kind first. */
static int compare_predecessors(const void *a, const void *b)
{
    const struct ntk_neff_predecessor *x = a;
    const struct ntk_neff_predecessor *y = b;

    if (x->bir_id != y->bir_id) {
        return x->bir_id < y->bir_id ? -1 : 1;
    }
    return x->kind == y->kind ? 0 : x->kind > y->kind ? -1 : 1;
}

/* Both lists of an instruction name the same ones. */
static void unite_predecessors(struct reader *r, struct ntk_neff_debug_instruction *instruction)
{
    size_t count = r->predecessors.count - instruction->predecessor_first;
    size_t kept = 0;

    if (!count) {
        return;
    }
    struct ntk_neff_predecessor *list =
        (struct ntk_neff_predecessor *)r->predecessors.items + instruction->predecessor_first;
    qsort(list, count, sizeof *list, compare_predecessors);
    for (size_t i = 0; i < count; i++) {
        if (!kept || list[kept - 1].bir_id != list[i].bir_id) {
            list[kept++] = list[i];
        }
    }
    instruction->predecessor_count = kept;
    r->predecessors.count = instruction->predecessor_first + kept;
}

static int read_backend_entry(struct reader *r, const struct ntk_protobuf_field *entry)
{
    struct ntk_protobuf_field fields[FIELDS];
    int ret = read_fields(r, entry, fields);

    if (ret < 0) {
        return ret;
    }
    struct ntk_neff_debug_instruction *to = ntk_vec_add(&r->instructions);
    size_t text_at = 0;
    if (!to) {
        return ntk_err_no_memory(r->err);
    }
    to->bir_id = fields[FIELD_ID].value;
    to->predecessor_first = r->predecessors.count;
    ret = first_id(r, &fields[FIELD_PENGUIN_IDS], &to->penguin_id);
    to->has_penguin = ret == 0;
    if (ret == 0 || ret == -ENOENT) {
        ret = add_text(r, &fields[FIELD_TEXT], &text_at);
    }
    to->name = (const char *)(uintptr_t)text_at; /* a place until all texts are there */
    if (ret == 0) {
        ret = add_predecessors(r, &fields[FIELD_PREDECESSORS], &fields[FIELD_KINDS]);
    }
    if (ret == 0) {
        ret = add_predecessors(r, &fields[FIELD_ENFORCED], &fields[FIELD_ENFORCED_KINDS]);
    }
    unite_predecessors(r, to);
    return ret;
}

static int read_penguin_entry(struct reader *r, const struct ntk_protobuf_field *entry)
{
    struct ntk_protobuf_field fields[FIELDS];
    int ret = read_fields(r, entry, fields);

    if (ret < 0 || !fields[FIELD_TEXT].bytes_count) {
        return ret;
    }
    struct penguin *to = ntk_vec_add(&r->penguins);
    if (!to) {
        return ntk_err_no_memory(r->err);
    }
    to->id = fields[FIELD_ID].value;
    return add_text(r, &fields[FIELD_TEXT], &to->text_at);
}

/* Lists grow by doubling. */
static bool is_too_large(const struct reader *r)
{
    uint64_t bytes = r->instructions.count * sizeof(struct ntk_neff_debug_instruction) +
                     r->predecessors.count * sizeof(struct ntk_neff_predecessor) +
                     r->penguins.count * sizeof(struct penguin) +
                     r->slots.count * sizeof(uint64_t) + r->texts.bytes_count;

    return bytes > r->memory_left / 2;
}

/* Every entry of a member. */
static int read_member(struct reader *r, const struct ntk_neff_member *member,
                       int (*read_entry)(struct reader *r, const struct ntk_protobuf_field *entry))
{
    struct ntk_protobuf_field field;
    size_t position = 0;
    int ret = 0;

    r->member = member;
    r->entry_count = 0;
    if (!member->bytes) {
        return ntk_err_set(r->err, -EBADMSG, NTK_ERR_NO_OFFSET,
                           "%s does not fit into the memory that is free", member->name);
    }
    while (ret == 0 && ntk_protobuf_next(member->bytes, member->bytes_count, &position, &field)) {
        if (field.number != FIELD_ENTRY) {
            continue;
        }
        if (!field.bytes) {
            return damaged(r, member->bytes + position, "an entry is no message");
        }
        if (r->entry_count++ == NTK_NEFF_DEBUG_ENTRIES_MAX) {
            return damaged(r, member->bytes + position, "there are more than 16777216 entries");
        }
        ret = read_entry(r, &field);
        if (ret == 0 && is_too_large(r)) {
            ret = ntk_err_set(r->err, -ENOMEM, NTK_ERR_NO_OFFSET,
                              "%s exceeds " NTK_NEFF_MEMORY_TEXT, member->name);
        }
    }
    if (ret == 0 && position != member->bytes_count) {
        ret = damaged(r, member->bytes + position, "it does not end with a whole field");
    }
    return ret;
}

/* ---- a subgraph ---- */

static const struct ntk_neff_member *find(const struct ntk_neff *neff, const char *folder,
                                          const char *level, const char *engine)
{
    char name[NTK_NEFF_MEMBER_NAME_MAX + 64];

    snprintf(name, sizeof name, "%s%sdebug_info_%s_%s.dbg", folder, folder[0] ? "/" : "", level,
             engine);
    return ntk_neff_member_get(neff, name);
}

static int read_engine(struct reader *r, const struct ntk_neff *neff,
                       const struct ntk_neff_subgraph *subgraph, unsigned engine, bool *out_any)
{
    const struct ntk_neff_member *backend =
        find(neff, subgraph->folder, "backend", engine_files[engine]);
    const struct ntk_neff_member *assembly =
        engine < NTK_ISA_ENGINE_COUNT ? find(neff, subgraph->folder, "asm", engine_files[engine])
                                      : NULL;
    int ret = backend ? read_member(r, backend, read_backend_entry) : 0;

    if (ret < 0 || !assembly) {
        return ret;
    }
    *out_any = true;
    ntk_vec_init(&r->slots, sizeof(uint64_t));
    ret = read_member(r, assembly, read_asm_entry);
    r->debug->slots[engine] = r->slots.items;
    r->debug->slot_counts[engine] = r->slots.count;
    size_t code_slots = subgraph->engines[engine].code_bytes / NTK_ISA_SLOT_BYTES;
    if (ret == 0 && r->slots.count != code_slots) {
        ret =
            ntk_err_set(r->err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s: %zu entries for %zu instructions",
                        assembly->name, r->slots.count, code_slots);
    }
    return ret;
}

static int compare_instructions(const void *a, const void *b)
{
    const struct ntk_neff_debug_instruction *x = a;
    const struct ntk_neff_debug_instruction *y = b;

    if (x->bir_id != y->bir_id) {
        return x->bir_id < y->bir_id ? -1 : 1;
    }
    /* The first of those that share an id. */
    return x->predecessor_first < y->predecessor_first   ? -1
           : x->predecessor_first > y->predecessor_first ? 1
           : (uintptr_t)x->name < (uintptr_t)y->name     ? -1
                                                         : (uintptr_t)x->name > (uintptr_t)y->name;
}

static int compare_penguins(const void *a, const void *b)
{
    const struct penguin *x = a;
    const struct penguin *y = b;

    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    return x->text_at < y->text_at ? -1 : x->text_at > y->text_at;
}

static const char *penguin_text(const struct reader *r, uint64_t id)
{
    struct penguin key = { .id = id };
    const struct penguin *list = r->penguins.items;
    size_t low = 0;
    size_t high = r->penguins.count;

    while (low < high) { /* the first that is not before the key */
        size_t middle = low + (high - low) / 2;
        if (compare_penguins(&list[middle], &key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < r->penguins.count && list[low].id == id
               ? (const char *)r->texts.bytes + list[low].text_at
               : NULL;
}

/* Sorts, drops what shares an id with one before it, and turns places into texts. */
static void finish(struct reader *r)
{
    struct ntk_neff_debug *debug = r->debug;
    size_t kept = 0;

    ntk_vec_sort(&r->instructions, compare_instructions);
    ntk_vec_sort(&r->penguins, compare_penguins);
    debug->instructions = r->instructions.items;
    /* Without texts, the first instruction was damaged, and there is nothing to finish. */
    for (size_t i = 0; r->texts.bytes && i < r->instructions.count; i++) {
        struct ntk_neff_debug_instruction one = debug->instructions[i];
        if (kept && debug->instructions[kept - 1].bir_id == one.bir_id) {
            continue;
        }
        one.name = (const char *)r->texts.bytes + (uintptr_t)one.name;
        one.penguin_text = one.has_penguin ? penguin_text(r, one.penguin_id) : NULL;
        debug->instructions[kept++] = one;
    }
    debug->instruction_count = kept;
    debug->predecessors = r->predecessors.items;
    debug->private_data = r->texts.bytes;
}

static uint32_t number_of(const struct ntk_neff *neff, const struct ntk_neff_subgraph *subgraph)
{
    for (uint32_t k = 0; k < neff->kelf_count; k++) {
        for (uint32_t s = 0; s < neff->kelfs[k].subgraph_count; s++) {
            if (&neff->kelfs[k].subgraphs[s] == subgraph) {
                return s;
            }
        }
    }
    return 0;
}

int ntk_neff_debug_create(const struct ntk_neff *neff, const struct ntk_neff_subgraph *subgraph,
                          struct ntk_neff_debug **out_debug, struct ntk_err *err)
{
    struct reader r = { .instructions = NTK_VEC_INIT(struct ntk_neff_debug_instruction),
                        .predecessors = NTK_VEC_INIT(struct ntk_neff_predecessor),
                        .penguins = NTK_VEC_INIT(struct penguin),
                        .memory_left = ntk_neff_memory_left(neff),
                        .err = err };
    char name[64];
    bool is_any = false;
    int ret = 0;

    if (!neff->member_count) {
        *out_debug = NULL;
        return 0;
    }
    r.debug = calloc(1, sizeof *r.debug);
    if (!r.debug) {
        return ntk_err_no_memory(err);
    }
    r.debug->subgraph = number_of(neff, subgraph);
    for (unsigned e = 0; e < ENGINE_FILES && ret == 0; e++) {
        ret = read_engine(&r, neff, subgraph, e, &is_any);
    }
    snprintf(name, sizeof name, "debug_info/debug_info_penguin.dbg_sg%06u", r.debug->subgraph);
    const struct ntk_neff_member *penguin = ntk_neff_member_get(neff, name);
    if (ret == 0 && is_any && penguin) {
        ret = read_member(&r, penguin, read_penguin_entry);
    }
    finish(&r);
    ntk_vec_fini(&r.penguins);
    if (ret < 0 || !is_any) {
        ntk_neff_debug_destroy(r.debug);
        r.debug = NULL;
    }
    if (ret == 0) {
        *out_debug = r.debug;
    }
    return ret;
}

void ntk_neff_debug_destroy(struct ntk_neff_debug *debug)
{
    if (!debug) {
        return;
    }
    for (unsigned e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        free(debug->slots[e]);
    }
    free(debug->instructions);
    free(debug->predecessors);
    free(debug->private_data);
    free(debug);
}

bool ntk_neff_debug_bir_id(const struct ntk_neff_debug *debug, enum ntk_isa_engine engine,
                           size_t slot, uint64_t *out_bir_id)
{
    if (slot >= debug->slot_counts[engine] || !debug->slots[engine][slot]) {
        return false;
    }
    *out_bir_id = debug->slots[engine][slot] - 1;
    return true;
}

const struct ntk_neff_debug_instruction *ntk_neff_debug_find(const struct ntk_neff_debug *debug,
                                                             uint64_t bir_id)
{
    size_t low = 0;
    size_t high = debug->instruction_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (debug->instructions[middle].bir_id < bir_id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < debug->instruction_count && debug->instructions[low].bir_id == bir_id
               ? &debug->instructions[low]
               : NULL;
}

const char *ntk_neff_predecessor_kind_name(uint64_t kind)
{
    static const char *const names[] = { NULL, "ORDERED", "ANTI_DEPENDENCE", "OUTPUT_DEPENDENCE",
                                         "FLOW_DEPENDENCE" };

    return kind < sizeof names / sizeof *names ? names[kind] : NULL;
}
