/* SPDX-License-Identifier: MIT */
/* region_engines - folds the instructions of each engine as a sequence of tokens. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/fold.h"
#include "profiler/analysis/instruction_label.h"
#include "profiler/analysis/region_find.h"

#define ENGINES NTK_NTFF_ENGINE_COUNT

struct stream { /* state of one engine */
    struct finder *finder;
    unsigned engine;
    struct ntk_fold fold;
    struct ntk_vec region_of; /* indexed by body; elements are uint32_t */
    uint64_t *counts;         /* number of runs by slot, borrowed from the core or owned */
    uint64_t *own_counts;
    /* Members for the current statement. */
    bool is_open;
    uint64_t bir_id;
    uint32_t last_slot;
    struct ntk_fold_token token;
};

struct finder {
    struct ntk_region_find *find;
    size_t core_index;
    const struct ntk_trace_core *core;
    struct ntk_labels *labels;
    uint64_t *layer_kinds; /* indexed by layer: hash of its name without numbers */
    struct stream streams[ENGINES];
};

/* ---- tokens ---- */

enum { KIND_OF_SLOT = 1, KIND_OF_STATEMENT, KIND_OF_OPERATION, KIND_OF_LINE };

static uint64_t kind_of(uint64_t what, uint64_t a, uint64_t b)
{
    uint64_t value = a * UINT64_C(0x9e3779b97f4a7c15) ^ (b + what) * UINT64_C(0xc2b2ae3d27d4eb4f);

    value ^= value >> 29;
    value *= UINT64_C(0xbf58476d1ce4e5b9);
    return value ^ value >> 32;
}

static uint64_t hash_of_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (; *text; text++) {
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Returns the kind of a line in a kernel, which has no separate statements. */
static uint64_t kind_of_line(const struct ntk_neff_debug_instruction *named, uint8_t opcode)
{
    return kind_of(KIND_OF_LINE, hash_of_text(named->file) + named->line, opcode);
}

static bool ran_again(const struct stream *stream, uint32_t slot)
{
    return stream->counts && stream->counts[slot] > 1;
}

static int close_token(struct stream *stream)
{
    stream->is_open = false;
    return ntk_fold_add(&stream->fold, &stream->token);
}

/* Returns true if the text of its statement has loop variables, such as "float32<128 x 128>
 * $50[i_kv]". */
static bool is_in_loop(const struct ntk_slot_fact *fact)
{
    return fact->named && fact->named->has_penguin && fact->named->penguin_text &&
           strchr(fact->named->penguin_text, '[');
}

static int add_instruction(struct finder *finder, const struct ntk_trace_instruction *instruction)
{
    struct stream *stream = &finder->streams[instruction->engine];
    const struct ntk_slot_fact *fact =
        ntk_program_fact(finder->find->program, finder->core_index, instruction);
    struct ntk_fold_token *token = &stream->token;
    int ret = 0;

    if (ntk_region_is_sync(fact, instruction->opcode)) {
        return 0;
    }
    if (stream->is_open && fact->has_bir_id && fact->bir_id == stream->bir_id &&
        instruction->slot > stream->last_slot) {
        stream->last_slot = instruction->slot;
        token->count++;
        token->end_ps = instruction->end_ps > token->end_ps ? instruction->end_ps : token->end_ps;
        return 0;
    }
    ret = stream->is_open ? close_token(stream) : 0;
    bool is_again = ran_again(stream, instruction->slot);
    bool is_statement = is_in_loop(fact);
    bool has_line = fact->named && fact->named->file && fact->named->line &&
                    ntk_labels_is_kernel(finder->labels, fact);
    *token = (struct ntk_fold_token){
        .kind =
            is_again       ? kind_of(KIND_OF_SLOT, instruction->slot, 0)
            : is_statement ? kind_of(KIND_OF_STATEMENT, fact->named->penguin_id, 0)
            : has_line     ? kind_of_line(fact->named, instruction->opcode)
            : fact->named && fact->named->has_penguin && !ntk_labels_is_layer(finder->labels, fact)
                ? kind_of(KIND_OF_STATEMENT, fact->named->penguin_id, instruction->opcode)
                : kind_of(KIND_OF_OPERATION, instruction->opcode,
                          finder->layer_kinds[fact->code->layer]),
        .start_ps = instruction->start_ps,
        .end_ps = instruction->end_ps,
        .first = (uint32_t)(instruction - finder->core->instructions),
        .count = 1,
        .is_statement = is_again || is_statement,
    };
    if (ret == 0 && fact->has_bir_id) {
        stream->is_open = true;
        stream->bir_id = fact->bir_id;
        stream->last_slot = instruction->slot;
        return 0;
    }
    return ret ? ret : ntk_fold_add(&stream->fold, token);
}

/* ---- bodies become regions ---- */

static const struct ntk_trace_instruction *first_of(const struct finder *finder,
                                                    const struct ntk_fold_body *body)
{
    return &finder->core->instructions[body->parts[0].first];
}

static enum ntk_region_kind kind_of_body(const struct stream *stream,
                                         const struct ntk_fold_body *body)
{
    const struct finder *finder = stream->finder;
    const struct ntk_trace_instruction *first = first_of(finder, body);
    const struct ntk_slot_fact *fact =
        ntk_program_fact(finder->find->program, finder->core_index, first);

    if (ran_again(stream, first->slot)) {
        return NTK_REGION_LOOP;
    }
    return is_in_loop(fact) ? NTK_REGION_KERNEL : NTK_REGION_ITERATION;
}

static int put(void *ctx, uint32_t body, const struct ntk_fold_token *iteration)
{
    struct stream *stream = ctx;
    struct ntk_region_find *find = stream->finder->find;

    while (stream->region_of.count <= body) {
        uint32_t made = (uint32_t)stream->region_of.count;
        uint32_t region = NTK_REGION_NONE;
        int ret = ntk_region_find_add(find, stream->finder->core_index, stream->engine,
                                      kind_of_body(stream, ntk_fold_body_get(&stream->fold, made)),
                                      &region);
        if (ret < 0 || ntk_vec_push(&stream->region_of, &region) < 0) {
            return -ENOMEM;
        }
    }
    return ntk_region_find_put(find, *(uint32_t *)ntk_vec_at(&stream->region_of, body),
                               iteration->start_ps, iteration->end_ps, iteration->first,
                               iteration->count);
}

static uint32_t region_of(const struct stream *stream, uint32_t body)
{
    return body < stream->region_of.count ? *(uint32_t *)ntk_vec_at(&stream->region_of, body)
                                          : NTK_REGION_NONE;
}

/* Returns the name of a token: its layer without numbers, "$50[i_kv]", "attention.py:394", or its
 * operation. */
static void label_of(const struct finder *finder, uint32_t index, char *buf, size_t buf_bytes)
{
    const struct ntk_program *program = finder->find->program;
    const struct ntk_trace_instruction *instruction = &finder->core->instructions[index];
    const struct ntk_slot_fact *fact = ntk_program_fact(program, finder->core_index, instruction);
    char opcode[16];

    if (ntk_label_get(finder->labels, fact, buf, buf_bytes)[0]) {
        return;
    }
    if (fact->code->layer > NTK_LAYER_RUNTIME) {
        (void)ntk_region_plain_name(program->layers[fact->code->layer], buf, buf_bytes);
    } else {
        snprintf(buf, buf_bytes, "%s",
                 ntk_ntff_opcode_name(instruction->opcode, opcode, sizeof opcode));
    }
}

/* Builds a name from the first parts without repetition, such as "LDWEIGHTS MATMUL" or "$5[i]
 * ($7[i_j])* +2". */
static char *name_body(const struct stream *stream, const struct ntk_fold_body *body)
{
    char name[NTK_REGION_NAME_BYTES] = "";
    char last[NTK_REGION_NAME_BYTES] = "";
    size_t used = 0;

    for (uint32_t p = 0; p < body->part_count; p++) {
        char label[NTK_REGION_NAME_BYTES];
        uint32_t inner = body->parts[p].body == NTK_FOLD_NO_BODY
                             ? NTK_REGION_NONE
                             : region_of(stream, body->parts[p].body);
        const struct ntk_region *region =
            inner == NTK_REGION_NONE ? NULL : ntk_region_find_at(stream->finder->find, inner);
        if (region && region->name) {
            snprintf(label, sizeof label, "(%.150s)*", region->name);
        } else {
            label_of(stream->finder, body->parts[p].first, label, sizeof label);
        }
        if (strcmp(label, last) != 0 && used < sizeof name) {
            used +=
                (size_t)snprintf(name + used, sizeof name - used, "%s%s", used ? " " : "", label);
        }
        memcpy(last, label, sizeof last);
    }
    if (body->node_count > body->part_count && used < sizeof name) {
        snprintf(name + used, sizeof name - used, " +%zu", body->node_count - body->part_count);
    }
    return strdup(name);
}

static int describe(const struct stream *stream)
{
    for (uint32_t b = 0; b < stream->region_of.count; b++) {
        const struct ntk_fold_body *body = ntk_fold_body_get(&stream->fold, b);
        uint32_t index = region_of(stream, b);
        if (index == NTK_REGION_NONE) {
            continue;
        }
        struct ntk_region *region = ntk_region_find_at(stream->finder->find, index);
        region->name = name_body(stream, body); /* inner bodies come before outer bodies */
        region->parent = region_of(stream, body->parent);
        if (!region->name) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* ---- a core ---- */

static int count_slots(struct finder *finder)
{
    const struct ntk_trace_core *core = finder->core;

    for (unsigned e = 0; e < ENGINES; e++) {
        const struct ntk_ntff_buffer *buffer = core->ntff->engine_buffers[e];
        struct stream *stream = &finder->streams[e];
        stream->counts = core->has_slot_counts ? core->slot_counts[e] : NULL;
        if (!core->has_slot_counts) {
            stream->own_counts =
                calloc(buffer ? buffer->code_bytes / NTK_NTFF_SLOT_BYTES + 1 : 1, sizeof(uint64_t));
            stream->counts = stream->own_counts;
            if (!stream->own_counts) {
                return -ENOMEM;
            }
        }
    }
    if (!core->has_slot_counts) {
        ntk_trace_each_instruction(core, instruction) {
            finder->streams[instruction->engine].own_counts[instruction->slot]++;
        }
    }
    return 0;
}

static int streams_init(struct finder *finder)
{
    const struct ntk_trace *trace = finder->find->program->trace;
    int ret = 0;

    for (unsigned e = 0; e < ENGINES && ret == 0; e++) {
        struct stream *stream = &finder->streams[e];
        stream->finder = finder;
        stream->engine = e;
        ntk_vec_init(&stream->region_of, sizeof(uint32_t));
        ret = ntk_fold_init(&stream->fold, trace, (size_t)2 * ENGINES, put, stream);
    }
    return ret;
}

static int layer_kinds(struct finder *finder)
{
    const struct ntk_program *program = finder->find->program;

    finder->layer_kinds = calloc(program->layer_count + 1, sizeof *finder->layer_kinds);
    if (!finder->layer_kinds) {
        return -ENOMEM;
    }
    for (size_t l = 0; l < program->layer_count; l++) {
        char name[2 * NTK_REGION_NAME_BYTES];
        finder->layer_kinds[l] =
            hash_of_text(ntk_region_plain_name(program->layers[l], name, sizeof name));
    }
    return 0;
}

int ntk_region_find_repeats(struct ntk_region_find *find, size_t core_index)
{
    struct finder *finder = calloc(1, sizeof *finder);
    int ret;

    if (!finder) {
        return -ENOMEM;
    }
    finder->find = find;
    finder->core_index = core_index;
    finder->core = &find->program->trace->cores[core_index];
    finder->labels = ntk_labels_create(find->program, core_index);
    ret = finder->labels ? streams_init(finder) : -ENOMEM;
    ret = ret ? ret : layer_kinds(finder);
    ret = ret ? ret : count_slots(finder);
    if (ret == 0) {
        ntk_trace_each_instruction(finder->core, instruction) {
            ret = add_instruction(finder, instruction);
            if (ret < 0) {
                break;
            }
        }
    }
    for (unsigned e = 0; e < ENGINES; e++) {
        struct stream *stream = &finder->streams[e];
        ret = ret == 0 && stream->is_open ? close_token(stream) : ret;
        ret = ret ? ret : ntk_fold_finish(&stream->fold);
        ret = ret ? ret : describe(stream);
        find->omitted += stream->fold.omitted;
        ntk_fold_fini(&stream->fold);
        ntk_vec_fini(&stream->region_of);
        free(stream->own_counts);
    }
    ntk_labels_destroy(finder->labels);
    free(finder->layer_kinds);
    free(finder);
    return ret;
}
