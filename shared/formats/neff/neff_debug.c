/* SPDX-License-Identifier: MIT */
/* neff_debug - reads the members of three levels field by field, and keeps only the needed
 * fields. */
#include "shared/formats/neff/neff_debug_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/bisect.h"
#include "shared/base/memory.h"
#include "shared/base/order.h"
#include "shared/base/str.h"

#define TEXT_BYTES_MAX ((size_t)4096) /* limit after which texts are truncated */
#define IDS_PER_INSTRUCTION 8         /* maximum ratio of ids to instructions for a table of ids */
#define ENGINE_FILES 6                /* engines, and transfers, which belong to no engine */

static const char *const engine_files[ENGINE_FILES] = {
    [NTK_ISA_ENGINE_PE] = "PE",     [NTK_ISA_ENGINE_ACT] = "Activation",
    [NTK_ISA_ENGINE_POOL] = "Pool", [NTK_ISA_ENGINE_DVE] = "DVE",
    [NTK_ISA_ENGINE_SP] = "SP",     [NTK_ISA_ENGINE_COUNT] = "DMA",
};

/* Reports damage with its position in the member. */
int neff_debug_damaged(struct debug_reader *r, const uint8_t *at, const char *what)
{
    return ntk_err_set(r->err, -EBADMSG, (uint64_t)(at - r->member->bytes), "%s: %s",
                       r->member->name, what);
}

int neff_debug_add_text(struct debug_reader *r, const struct ntk_protobuf_field *field,
                        size_t *out_at)
{
    size_t bytes = field->bytes_count < TEXT_BYTES_MAX ? field->bytes_count : TEXT_BYTES_MAX;
    size_t room = bytes * 3 + 1; /* each byte may become U+FFFD */
    size_t plain = 0;

    *out_at = r->texts.bytes_count;
    char *to = ntk_buf_extend(&r->texts, room);
    if (!to) {
        return ntk_err_no_memory(r->err);
    }
    while (plain < bytes && field->bytes[plain] >= ' ' && field->bytes[plain] <= '~') {
        to[plain] = (char)field->bytes[plain];
        plain++;
    }
    to[plain] = '\0';
    if (plain < bytes) {
        ntk_str_copy_clean(to, room, (const char *)field->bytes, bytes);
        plain = strlen(to);
    }
    r->texts.bytes_count = *out_at + plain + 1;
    return 0;
}

/* Reads the first number of a packed list that is an id; -ENOENT if the list is empty. */
int neff_debug_first_id(struct debug_reader *r, const struct ntk_protobuf_field *list,
                        uint64_t *out_id)
{
    size_t position = 0;

    if (!list->bytes_count) {
        return -ENOENT;
    }
    if (!ntk_protobuf_next_packed(list, &position, out_id) || *out_id >= NEFF_DEBUG_ID_END) {
        return neff_debug_damaged(r, list->bytes, "invalid id: expected a number below 2^48");
    }
    return 0;
}

bool neff_debug_is(const struct ntk_protobuf_field *field, const char *text)
{
    return field->bytes_count == strlen(text) && memcmp(field->bytes, text, strlen(text)) == 0;
}

/* Reads a pair {1: key, 2: value} of texts. */
static int read_pair(struct debug_reader *r, const struct ntk_protobuf_field *pair,
                     int (*take)(struct debug_reader *r, struct debug_pair pair, void *ctx),
                     void *ctx)
{
    struct ntk_protobuf_field sides[2] = { { 0 }, { 0 } };
    struct ntk_protobuf_field field;
    size_t position = 0;

    while (ntk_protobuf_next(pair->bytes, pair->bytes_count, &position, &field)) {
        if (field.number >= 1 && field.number <= 2) {
            sides[field.number - 1] = field;
        }
    }
    if (position != pair->bytes_count || !sides[0].bytes || (sides[1].number && !sides[1].bytes)) {
        return neff_debug_damaged(r, pair->bytes, "an entry has an invalid key-value pair");
    }
    return take(r, (struct debug_pair){ &sides[0], &sides[1] }, ctx);
}

int neff_debug_fields(struct debug_reader *r, const struct ntk_protobuf_field *entry,
                      struct ntk_protobuf_field fields[NEFF_DEBUG_FIELDS],
                      int (*pair)(struct debug_reader *r, struct debug_pair pair, void *ctx),
                      void *ctx)
{
    static const bool is_list[NEFF_DEBUG_FIELDS] = {
        [FIELD_TEXT] = true,     [FIELD_PENGUIN_IDS] = true, [FIELD_PREDECESSORS] = true,
        [FIELD_ENFORCED] = true, [FIELD_KINDS] = true,       [FIELD_ENFORCED_KINDS] = true
    };
    struct ntk_protobuf_field field;
    size_t position = 0;
    int ret = 0;

    memset(fields, 0, NEFF_DEBUG_FIELDS * sizeof *fields);
    while (ret == 0 && ntk_protobuf_next(entry->bytes, entry->bytes_count, &position, &field)) {
        if (field.number >= NEFF_DEBUG_FIELDS) {
            continue;
        }
        if ((is_list[field.number] && !field.bytes) || (field.number == FIELD_ID && field.bytes)) {
            return neff_debug_damaged(r, entry->bytes,
                                      "a field of an entry has an unexpected type");
        }
        if (field.number == FIELD_PAIR && field.bytes && pair) {
            ret = read_pair(r, &field, pair, ctx);
        }
        fields[field.number] = field;
    }
    if (ret < 0) {
        return ret;
    }
    if (position != entry->bytes_count) {
        return neff_debug_damaged(r, entry->bytes + position, "an entry ends inside a field");
    }
    if (fields[FIELD_ID].value >= NEFF_DEBUG_ID_END) {
        return neff_debug_damaged(r, entry->bytes, "invalid id: expected a number below 2^48");
    }
    return 0;
}

/* ---- the levels ---- */

static int read_asm_entry(struct debug_reader *r, const struct ntk_protobuf_field *entry)
{
    struct ntk_protobuf_field fields[NEFF_DEBUG_FIELDS];
    uint64_t *slot = ntk_vec_add(&r->slots);
    uint64_t id = 0;

    if (!slot) {
        return ntk_err_no_memory(r->err);
    }
    int ret = neff_debug_fields(r, entry, fields, NULL, NULL);
    if (ret == 0) {
        ret = neff_debug_first_id(r, &fields[FIELD_ASM_BIR_IDS], &id);
        *slot = ret == 0 ? id + 1 : 0;
    }
    return ret == -ENOENT ? 0 : ret;
}

static int add_predecessors(struct debug_reader *r, const struct ntk_protobuf_field *ids,
                            const struct ntk_protobuf_field *kinds)
{
    size_t id_at = 0;
    size_t kind_at = 0;

    while (id_at < ids->bytes_count) {
        struct ntk_neff_predecessor one = { 0 };

        if (!ntk_protobuf_next_packed(ids, &id_at, &one.bir_id) ||
            one.bir_id >= NEFF_DEBUG_ID_END) {
            return neff_debug_damaged(r, ids->bytes, "invalid id: expected a number below 2^48");
        }
        if (kinds->bytes_count && !ntk_protobuf_next_packed(kinds, &kind_at, &one.kind)) {
            return neff_debug_damaged(r, kinds->bytes,
                                      "the numbers of predecessors and of their kinds differ");
        }
        if (r->predecessors.count == NTK_NEFF_DEBUG_PREDECESSORS_MAX) {
            return neff_debug_damaged(r, ids->bytes, "too many predecessors (at most 67108864)");
        }
        if (ntk_vec_push(&r->predecessors, &one) < 0) {
            return ntk_err_no_memory(r->err);
        }
    }
    return kind_at == kinds->bytes_count
               ? 0
               : neff_debug_damaged(r, kinds->bytes,
                                    "the numbers of predecessors and of their kinds differ");
}

/* Sorts by id; entries with a kind come first. */
NTK_ORDER(compare_predecessors, struct ntk_neff_predecessor, NTK_UP(bir_id) NTK_DOWN(kind));

/* Merges the two lists of an instruction, which contain the same predecessors. */
static void unite_predecessors(struct debug_reader *r,
                               struct ntk_neff_debug_instruction *instruction)
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
    instruction->predecessor_count = (uint32_t)kept;
    r->predecessors.count = instruction->predecessor_first + kept;
}

/* The place of an instruction, read from its pairs; numbers are decimal texts. */
struct place {
    bool has_file, has_line, has_kernel;
    uint64_t file, line, kernel;
};

static uint64_t number_in(const struct ntk_protobuf_field *text)
{
    uint64_t number = text->bytes_count ? 0 : UINT64_MAX;

    for (size_t k = 0; k < text->bytes_count; k++) {
        uint8_t digit = (uint8_t)(text->bytes[k] - '0');
        number = digit <= 9 && number <= UINT32_MAX ? number * 10 + digit : UINT64_MAX;
    }
    return number;
}

static int take_place(struct debug_reader *r, struct debug_pair pair, void *ctx)
{
    static const char begin[] = "kernel_"; /* all keys start with it and are equally long */
    struct place *place = ctx;

    (void)r;
    if (pair.key->bytes_count != sizeof begin - 1 + 4 ||
        memcmp(pair.key->bytes, begin, sizeof begin - 1) != 0) {
        return 0;
    }
    const void *rest = pair.key->bytes + sizeof begin - 1;
    if (memcmp(rest, "line", 4) == 0) {
        place->has_line = true;
        place->line = number_in(pair.value);
    } else if (memcmp(rest, "file", 4) == 0) {
        place->has_file = true;
        place->file = number_in(pair.value);
    } else if (memcmp(rest, "name", 4) == 0) {
        place->has_kernel = true;
        place->kernel = number_in(pair.value);
    }
    return 0;
}

/* Stores the place. The tables may come after the entries, so finish_places() looks the numbers
 * up. */
static void keep_place(struct debug_reader *r, const struct place *place,
                       struct ntk_neff_debug_instruction *to)
{
    bool is_number = place->has_file && place->has_line && place->file < UINT32_MAX &&
                     place->line >= 1 && place->line <= UINT32_MAX;

    if (is_number) {
        to->file = (const char *)(uintptr_t)(place->file + 1);
        to->line = (uint32_t)place->line;
    } else if (place->has_file || place->has_line) {
        r->debug->bad_position_count++;
    }
    if (place->has_kernel && place->kernel < UINT32_MAX) {
        to->kernel = (const char *)(uintptr_t)(place->kernel + 1);
    }
}

/* Converts 1 + a table index to the position of the text; 0 stands for none. */
static const char *look_up(const struct ntk_vec *table, const char *number)
{
    uintptr_t index = (uintptr_t)number - 1;

    return number && index < table->count
               ? (const char *)(uintptr_t) * (size_t *)ntk_vec_at(table, index)
               : NULL;
}

static void finish_places(struct debug_reader *r, size_t first)
{
    struct ntk_neff_debug_instruction *all = r->instructions.items;

    for (size_t i = first; i < r->instructions.count; i++) {
        bool has_file = all[i].file != NULL;
        all[i].file = look_up(&r->files, all[i].file);
        all[i].kernel = look_up(&r->kernels, all[i].kernel);
        if (has_file && !all[i].file) {
            all[i].line = 0;
            r->debug->bad_position_count++;
        }
    }
}

static int read_backend_entry(struct debug_reader *r, const struct ntk_protobuf_field *entry)
{
    struct ntk_protobuf_field fields[NEFF_DEBUG_FIELDS];
    struct place place = { 0 };
    int ret = neff_debug_fields(r, entry, fields, take_place, &place);

    if (ret < 0) {
        return ret;
    }
    struct ntk_neff_debug_instruction *to = ntk_vec_add(&r->instructions);
    size_t text_at = 0;
    if (!to) {
        return ntk_err_no_memory(r->err);
    }
    to->bir_id = fields[FIELD_ID].value;
    to->predecessor_first = (uint32_t)r->predecessors.count;
    ret = neff_debug_first_id(r, &fields[FIELD_PENGUIN_IDS], &to->penguin_id);
    to->has_penguin = ret == 0;
    if (ret == 0 || ret == -ENOENT) {
        ret = neff_debug_add_text(r, &fields[FIELD_TEXT], &text_at);
    }
    to->name = (const char *)(uintptr_t)text_at; /* a position until all texts are read */
    keep_place(r, &place, to);
    if (ret == 0) {
        ret = add_predecessors(r, &fields[FIELD_PREDECESSORS], &fields[FIELD_KINDS]);
    }
    if (ret == 0) {
        ret = add_predecessors(r, &fields[FIELD_ENFORCED], &fields[FIELD_ENFORCED_KINDS]);
    }
    unite_predecessors(r, to);
    return ret;
}

static int read_penguin_entry(struct debug_reader *r, const struct ntk_protobuf_field *entry)
{
    struct ntk_protobuf_field fields[NEFF_DEBUG_FIELDS];
    int ret = neff_debug_fields(r, entry, fields, NULL, NULL);
    const struct ntk_protobuf_field *ids = &fields[FIELD_PENGUIN_IDS];
    size_t position = 0;

    if (ret < 0) {
        return ret;
    }
    struct debug_penguin *to = ntk_vec_add(&r->penguins);
    if (!to) {
        return ntk_err_no_memory(r->err);
    }
    to->id = fields[FIELD_ID].value;
    to->hlo_first = r->hlo_ids.count;
    while (position < ids->bytes_count) {
        uint64_t id;
        if (!ntk_protobuf_next_packed(ids, &position, &id) || id >= NEFF_DEBUG_ID_END) {
            return neff_debug_damaged(r, ids->bytes, "invalid id: expected a number below 2^48");
        }
        if (ntk_vec_push(&r->hlo_ids, &id) < 0) {
            return ntk_err_no_memory(r->err);
        }
    }
    to->hlo_count = r->hlo_ids.count - to->hlo_first;
    return fields[FIELD_TEXT].bytes_count
               ? neff_debug_add_text(r, &fields[FIELD_TEXT], &to->text_at)
               : 0;
}

/* Doubles the estimate, because lists grow by doubling. */
static bool is_too_large(const struct debug_reader *r)
{
    uint64_t bytes = r->instructions.count * sizeof(struct ntk_neff_debug_instruction) +
                     r->predecessors.count * sizeof(struct ntk_neff_predecessor) +
                     r->penguins.count * sizeof(struct debug_penguin) +
                     r->hlos.count * sizeof(struct ntk_neff_hlo) +
                     r->frameworks.count * sizeof(struct ntk_neff_framework) +
                     (r->hlo_ids.count + r->files.count + r->kernels.count) * sizeof(uint64_t) +
                     r->slots.count * sizeof(uint64_t) + r->texts.bytes_count;

    return bytes > r->memory_left / 2;
}

/* Adds a file or kernel to the member's tables. */
static int add_to_table(struct debug_reader *r, const struct ntk_protobuf_field *field,
                        struct ntk_vec *table)
{
    size_t at;

    if (!field->bytes) {
        return neff_debug_damaged(r, r->member->bytes, "invalid table name: expected text");
    }
    int ret = neff_debug_add_text(r, field, &at);
    return ret == 0 && ntk_vec_push(table, &at) < 0 ? ntk_err_no_memory(r->err) : ret;
}

int neff_debug_member(struct debug_reader *r, const struct ntk_neff_member *member,
                      int (*read_entry)(struct debug_reader *r,
                                        const struct ntk_protobuf_field *entry))
{
    struct ntk_protobuf_field field;
    size_t first = r->instructions.count;
    size_t position = 0;
    int ret = 0;

    r->member = member;
    r->entry_count = 0;
    ntk_vec_clear(&r->files);
    ntk_vec_clear(&r->kernels);
    if (!member->bytes) {
        return ntk_err_set(r->err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s does not fit in free memory",
                           member->name);
    }
    while (ret == 0 && ntk_protobuf_next(member->bytes, member->bytes_count, &position, &field)) {
        if (field.number == FIELD_FILE || field.number == FIELD_KERNEL) {
            ret = add_to_table(r, &field, field.number == FIELD_FILE ? &r->files : &r->kernels);
        } else if (field.number != FIELD_ENTRY) {
            continue;
        } else if (!field.bytes) {
            ret = neff_debug_damaged(r, member->bytes + position, "an entry is not a message");
        } else if (r->entry_count++ == NTK_NEFF_DEBUG_ENTRIES_MAX) {
            ret = neff_debug_damaged(r, member->bytes + position, "more than 16777216 entries");
        } else {
            ret = read_entry(r, &field);
        }
        if (ret == 0 && is_too_large(r)) {
            ret = ntk_err_set(r->err, -ENOMEM, NTK_ERR_NO_OFFSET,
                              "%s exceeds " NTK_NEFF_MEMORY_TEXT, member->name);
        }
    }
    if (ret == 0 && position != member->bytes_count) {
        ret = neff_debug_damaged(r, member->bytes + position, "truncated inside a field");
    }
    finish_places(r, first);
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

static int read_engine(struct debug_reader *r, const struct ntk_neff *neff,
                       const struct ntk_neff_subgraph *subgraph, unsigned engine, bool *out_any)
{
    const struct ntk_neff_member *backend =
        find(neff, subgraph->folder, "backend", engine_files[engine]);
    const struct ntk_neff_member *assembly =
        engine < NTK_ISA_ENGINE_COUNT ? find(neff, subgraph->folder, "asm", engine_files[engine])
                                      : NULL;
    int ret = backend ? neff_debug_member(r, backend, read_backend_entry) : 0;

    if (ret < 0 || !assembly) {
        return ret;
    }
    *out_any = true;
    ntk_vec_init(&r->slots, sizeof(uint64_t));
    ret = neff_debug_member(r, assembly, read_asm_entry);
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

/* Sorts by id; of equal ids, the first in the file comes first. */
NTK_ORDER(compare_instructions, struct ntk_neff_debug_instruction,
          NTK_UP(bir_id) NTK_UP(predecessor_first) NTK_UP(name));

NTK_ORDER(compare_penguins, struct debug_penguin, NTK_UP(id) NTK_UP(text_at));

static const struct debug_penguin *find_penguin(const struct debug_reader *r, uint64_t id)
{
    struct debug_penguin key = { .id = id };
    const struct debug_penguin *list = r->penguins.items;
    size_t low = 0;

    /* find the first that is not before the key */
    NTK_BISECT(low, r->penguins.count, i, compare_penguins(&list[i], &key) < 0);
    return low < r->penguins.count && list[low].id == id ? &list[low] : NULL;
}

/* Replaces text positions by pointers. */
static void finish_texts(const struct debug_reader *r, struct ntk_neff_debug_instruction *one)
{
    const struct debug_penguin *penguin =
        one->has_penguin ? find_penguin(r, one->penguin_id) : NULL;

    one->name = neff_debug_text_of(r, one->name);
    one->file = one->file ? neff_debug_text_of(r, one->file) : NULL;
    one->kernel = one->kernel ? neff_debug_text_of(r, one->kernel) : NULL;
    if (penguin) {
        one->penguin_text = penguin->text_at ? neff_debug_text(r, penguin->text_at) : NULL;
        /* fits, because memory does not allow more */
        one->hlo_first = (uint32_t)penguin->hlo_first;
        one->hlo_count = (uint32_t)penguin->hlo_count;
    }
}

/* Makes a table from ids to instructions if the ids are dense; this also sorts the instructions.
 * Returns false if they are not dense, or if out of memory. */
static bool index_by_id(struct debug_reader *r)
{
    struct ntk_neff_debug *debug = r->debug;
    const struct ntk_neff_debug_instruction *all = r->instructions.items;
    size_t count = r->instructions.count;
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;

    for (size_t i = 0; i < count; i++) {
        first = all[i].bir_id < first ? all[i].bir_id : first;
        last = all[i].bir_id > last ? all[i].bir_id : last;
    }
    if (!count || last - first >= count * IDS_PER_INSTRUCTION || count > UINT32_MAX - 1) {
        return false;
    }
    size_t id_count = (size_t)(last - first) + 1;
    uint32_t *by_id = calloc(id_count, sizeof *by_id);
    struct ntk_neff_debug_instruction *sorted = malloc(count * sizeof *sorted);
    if (!by_id || !sorted) {
        free(by_id);
        free(sorted);
        return false;
    }
    ntk_memory_is_large(sorted, count * sizeof *sorted);
    for (size_t i = 0; i < count; i++) {
        uint32_t *at = &by_id[all[i].bir_id - first];
        *at = *at ? *at : (uint32_t)i + 1; /* keep the first one with an id */
    }
    size_t kept = 0;
    for (size_t i = 0; i < id_count; i++) {
        if (by_id[i]) {
            sorted[kept++] = all[by_id[i] - 1];
            by_id[i] = (uint32_t)kept;
        }
    }
    free(r->instructions.items);
    r->instructions.items = sorted;
    r->instructions.count = kept;
    r->instructions.capacity = count;
    debug->by_id = by_id;
    debug->first_id = first;
    debug->by_id_count = id_count;
    return true;
}

/* Sorts, removes instructions with the id of an earlier one, and replaces text positions by
 * pointers. */
static void finish(struct debug_reader *r)
{
    struct ntk_neff_debug *debug = r->debug;
    size_t kept = 0;

    if (!index_by_id(r)) {
        ntk_vec_sort(&r->instructions, compare_instructions);
    }
    ntk_vec_sort(&r->penguins, compare_penguins);
    debug->instructions = r->instructions.items;
    for (size_t i = 0; i < r->instructions.count; i++) {
        struct ntk_neff_debug_instruction *one = &debug->instructions[i];
        if (kept && debug->instructions[kept - 1].bir_id == one->bir_id) {
            continue;
        }
        finish_texts(r, one);
        if (kept++ < i) {
            debug->instructions[kept - 1] = *one;
        }
    }
    debug->instruction_count = kept;
    debug->predecessors = r->predecessors.items;
    debug->hlo_ids = r->hlo_ids.items;
    neff_debug_finish_hlo(r);
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

/* Reads levels that cores share: cores with the same graph have one member, that of the first
 * core. */
static int read_shared_levels(struct debug_reader *r, const struct ntk_neff *neff)
{
    static const char penguin_name[] = "debug_info/debug_info_penguin.dbg_sg%06u";
    uint32_t number = r->debug->subgraph;
    char name[64];

    snprintf(name, sizeof name, penguin_name, number);
    if (!ntk_neff_member_get(neff, name)) {
        number = 0;
        snprintf(name, sizeof name, penguin_name, number);
    }
    const struct ntk_neff_member *penguin = ntk_neff_member_get(neff, name);
    int ret = penguin ? neff_debug_member(r, penguin, read_penguin_entry) : 0;
    return ret == 0 ? neff_debug_read_hlo(r, neff, number) : ret;
}

int ntk_neff_debug_create(const struct ntk_neff *neff, const struct ntk_neff_subgraph *subgraph,
                          struct ntk_neff_debug **out_debug, struct ntk_err *err)
{
    struct debug_reader r = { .instructions = NTK_VEC_INIT(struct ntk_neff_debug_instruction),
                              .predecessors = NTK_VEC_INIT(struct ntk_neff_predecessor),
                              .penguins = NTK_VEC_INIT(struct debug_penguin),
                              .hlo_ids = NTK_VEC_INIT(uint64_t),
                              .hlos = NTK_VEC_INIT(struct ntk_neff_hlo),
                              .frameworks = NTK_VEC_INIT(struct ntk_neff_framework),
                              .files = NTK_VEC_INIT(size_t),
                              .kernels = NTK_VEC_INIT(size_t),
                              .memory_left = ntk_neff_memory_left(neff),
                              .err = err };
    bool is_any = false;
    int ret = 0;

    if (!neff->member_count) {
        *out_debug = NULL;
        return 0;
    }
    r.debug = calloc(1, sizeof *r.debug);
    ntk_buf_put_u8(&r.texts, 0); /* position 0 is "" */
    if (!r.debug || !ntk_buf_ok(&r.texts)) {
        free(r.debug);
        return ntk_err_no_memory(err);
    }
    r.debug->subgraph = number_of(neff, subgraph);
    for (unsigned e = 0; e < ENGINE_FILES && ret == 0; e++) {
        ret = read_engine(&r, neff, subgraph, e, &is_any);
    }
    if (ret == 0 && is_any) {
        ret = read_shared_levels(&r, neff);
    }
    finish(&r);
    ntk_vec_fini(&r.penguins);
    ntk_vec_fini(&r.files);
    ntk_vec_fini(&r.kernels);
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
    free(debug->by_id);
    free(debug->instructions);
    free(debug->predecessors);
    free(debug->hlo_ids);
    free(debug->hlos);
    free(debug->frameworks);
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

    if (debug->by_id) {
        uint32_t number = bir_id >= debug->first_id && bir_id - debug->first_id < debug->by_id_count
                              ? debug->by_id[bir_id - debug->first_id]
                              : 0;
        return number ? &debug->instructions[number - 1] : NULL;
    }
    NTK_BISECT(low, debug->instruction_count, i, debug->instructions[i].bir_id < bir_id);
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
