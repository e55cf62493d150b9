/* SPDX-License-Identifier: MIT */
/* flame_stacks - groups instructions by the parts of their stack, then creates the frames of
 * each. */
#include "profiler/analysis/flame_stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/layer_summary.h"
#include "profiler/analysis/region_at.h"
#include "profiler/analysis/source_lines_private.h"
#include "shared/base/buf.h"
#include "shared/base/hash.h"
#include "shared/base/str.h"

#define ENGINES NTK_NTFF_ENGINE_COUNT
/* maximum number of regions or functions around an instruction; further ones are omitted */
#define CHAIN_MAX 256
#define FIRST_SLOTS 1024

/* Parts of a stack, without padding, because keys are compared and hashed as bytes. */
struct key {
    const char *layer; /* NULL if none */
    const char *file;  /* file of the line; NULL if none */
    uint32_t line;
    uint32_t function; /* 1 + index in kernel.functions */
    uint32_t region;
    uint8_t engine, opcode;
    uint8_t is_runtime; /* only used in frames without a line */
    uint8_t gap;
};

struct group {
    struct key key;
    int64_t busy_ps, wait_ns;
    uint64_t instruction_count;
};

struct flame {
    struct ntk_flame *result;
    const struct ntk_program *program;
    const struct ntk_regions *regions;
    bool has_lines;
    struct ntk_map frames; /* maps "parent name file:line" to 1 + index */
    struct ntk_buf text;
    int failed;
    /* The members below belong to the current core. */
    size_t core_index;
    struct ntk_vec groups;  /* elements are struct group */
    uint32_t *slots;        /* hash table with open addressing: 1 + index in groups */
    size_t slot_count;      /* a power of 2; at most half of the slots are used */
    uint32_t last[ENGINES]; /* 1 + index of the last group */
};

/* ---- groups ---- */

static uint64_t hash_of(const struct key *key)
{
    uint64_t words[sizeof *key / sizeof(uint64_t)];
    uint64_t hash = 0;

    static_assert(sizeof *key % sizeof(uint64_t) == 0, "hashed in words");
    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        hash = ntk_hash_number(hash ^ words[i]);
    }
    return hash;
}

static uint32_t *slot_of(const struct flame *f, const struct key *key)
{
    size_t at = hash_of(key) & (f->slot_count - 1);

    while (f->slots[at]) {
        const struct group *group = ntk_vec_at(&f->groups, f->slots[at] - 1);
        if (memcmp(&group->key, key, sizeof *key) == 0) {
            break;
        }
        at = (at + 1) & (f->slot_count - 1);
    }
    return &f->slots[at];
}

static int make_room(struct flame *f)
{
    if (f->groups.count * 2 < f->slot_count) {
        return 0;
    }
    size_t count = f->slot_count ? 2 * f->slot_count : FIRST_SLOTS;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots) {
        return -ENOMEM;
    }
    free(f->slots);
    f->slots = slots;
    f->slot_count = count;
    for (uint32_t i = 0; i < f->groups.count; i++) {
        *slot_of(f, &((const struct group *)ntk_vec_at(&f->groups, i))->key) = i + 1;
    }
    return 0;
}

static struct group *group_of(struct flame *f, const struct key *key)
{
    uint32_t *last = &f->last[key->engine];
    struct group *group = *last ? ntk_vec_at(&f->groups, *last - 1) : NULL;

    if (group && memcmp(&group->key, key, sizeof *key) == 0) {
        return group;
    }
    if (make_room(f) < 0) {
        return NULL;
    }
    uint32_t *slot = slot_of(f, key);
    if (!*slot) {
        group = ntk_vec_add(&f->groups);
        if (!group) {
            return NULL;
        }
        group->key = *key;
        *slot = (uint32_t)f->groups.count;
    }
    *last = *slot;
    return ntk_vec_at(&f->groups, *slot - 1);
}

static struct key key_of(const struct flame *f, const struct ntk_trace_instruction *instruction,
                         uint32_t region)
{
    const struct ntk_program *program = f->program;
    const struct ntk_neff_positions *positions = program->positions;
    const struct ntk_slot_fact *fact = ntk_program_fact(program, f->core_index, instruction);
    const struct ntk_neff_position *at = ntk_program_position(program, f->core_index, instruction);
    const struct ntk_neff_kernel_instruction *kernel = ntk_neff_position_instruction(positions, at);
    const struct ntk_neff_function *function = ntk_neff_position_function(positions, kernel);
    const char *layer = ntk_layer_name(program, &program->trace->cores[f->core_index], fact);
    struct key key = { .layer = layer && strcmp(layer, NTK_LAYER_UNKNOWN) != 0 ? layer : NULL,
                       .file = ntk_neff_position_file(positions, at),
                       .line = at ? at->line : 0,
                       .function = kernel ? kernel->function : 0,
                       .region = region,
                       .engine = instruction->engine,
                       .opcode = instruction->opcode };

    if (!key.file && function && function->file[0] && kernel->line) {
        key.file = function->file;
        key.line = kernel->line;
    }
    key.is_runtime = !key.file && (fact->code->is_runtime || fact->compiler_pc < 0);
    return key;
}

static int add_core(struct flame *f)
{
    const struct ntk_trace *trace = f->program->trace;
    const struct ntk_trace_core *core = &trace->cores[f->core_index];
    struct ntk_cover busy[ENGINES] = { 0 };
    struct ntk_region_at *at = ntk_region_at_create(f->regions, f->core_index);
    int ret = at ? 0 : -ENOMEM;

    ntk_trace_each_instruction(core, instruction) {
        uint32_t region = NTK_REGION_NONE;
        ret = ret ? ret
                  : ntk_region_at_get(at, (size_t)(instruction - core->instructions), instruction,
                                      &region);
        if (ret < 0) {
            break;
        }
        struct key key = key_of(f, instruction, region);
        struct group *group = group_of(f, &key);
        if (!group) {
            ret = -ENOMEM;
            break;
        }
        group->instruction_count++;
        group->wait_ns =
            ntk_ps_sum(group->wait_ns, ntk_source_wait_ns(trace, instruction->wait_cycles));
        if (instruction->opcode != NTK_NTFF_OPCODE_EVENT_SEMAPHORE) {
            struct ntk_cover *cover = &busy[instruction->engine];
            int64_t before_ps = cover->covered_ps;
            ntk_cover_add(cover, instruction->start_ps, instruction->end_ps);
            group->busy_ps += cover->covered_ps - before_ps;
        }
    }
    ntk_region_at_destroy(at);
    return ret;
}

/* ---- frames ---- */

/* Returns a cleaned copy, which the result owns. */
static const char *keep_name(struct flame *f, const char *name, size_t length)
{
    struct ntk_map *names = &f->result->names;
    char *text = strndup(name, length);
    const char *kept = NULL;

    ntk_buf_reset(&f->text);
    if (text) {
        ntk_buf_add_clean(&f->text, text);
    }
    free(text);
    const char *clean = text && ntk_buf_ok(&f->text) ? ntk_buf_text_get(&f->text) : NULL;
    uintptr_t at = clean ? (uintptr_t)ntk_map_get(names, clean) : 0;
    if (clean && !at &&
        ntk_map_put(names, clean, (void *)(names->count + 1)) == 0) { // NOLINT(*-int-to-ptr)
        at = names->count;
    }
    if (at) {
        kept = names->entries[at - 1].key;
    } else {
        f->failed = -ENOMEM;
    }
    return kept;
}

/* Finds the frame in parent (1 + index), or adds it. Returns 1 + index; 0 on failure. */
static uint32_t frame_in(struct flame *f, uint32_t parent, const char *name, size_t length,
                         const char *file, uint32_t line)
{
    const char *kept = keep_name(f, name, length);

    if (!kept) {
        return 0;
    }
    ntk_buf_reset(&f->text);
    ntk_buf_add_format(&f->text, "%u %s\n%s:%u", parent, kept, file ? file : "", line);
    if (!ntk_buf_ok(&f->text)) {
        f->failed = -ENOMEM;
        return 0;
    }
    const char *text = ntk_buf_text_get(&f->text);
    uintptr_t at = (uintptr_t)ntk_map_get(&f->frames, text);
    if (at) {
        return (uint32_t)at;
    }
    struct ntk_flame_frame frame = { parent, kept, file, line };
    if (ntk_vec_push(&f->result->frames, &frame) < 0 ||
        ntk_map_put(&f->frames, text,
                    (void *)f->result->frames.count) < 0) { // NOLINT(*-int-to-ptr)
        f->failed = -ENOMEM;
        return 0;
    }
    return (uint32_t)f->result->frames.count;
}

static uint32_t frame_of(struct flame *f, uint32_t parent, const char *name)
{
    return frame_in(f, parent, name, strlen(name), NULL, 0);
}

/* Adds the frames of a layer: "enc/0/attn" has three frames. */
static uint32_t layer_frames(struct flame *f, uint32_t parent, const char *layer)
{
    while (layer && *layer && !f->failed) {
        size_t length = strcspn(layer, "/");
        if (length > 0) {
            parent = frame_in(f, parent, layer, length, NULL, 0);
        }
        layer += length + (layer[length] == '/');
    }
    return parent;
}

/* Returns the name used in tables, without core and engine, which are outer frames. */
static const char *region_title(const struct ntk_region *region)
{
    const char *kind = strstr(region->shown, ntk_region_kind_name(region->kind));

    return kind ? kind : region->shown;
}

static uint32_t region_frames(struct flame *f, uint32_t parent, uint32_t region)
{
    uint32_t chain[CHAIN_MAX];
    size_t count = 0;

    for (; region != NTK_REGION_NONE && count < CHAIN_MAX;
         region = f->regions->regions[region].parent) {
        chain[count++] = region;
    }
    while (count-- > 0 && !f->failed) {
        parent = frame_of(f, parent, region_title(&f->regions->regions[chain[count]]));
    }
    return parent;
}

static uint32_t source_frames(struct flame *f, uint32_t parent, const struct key *key)
{
    const struct ntk_neff_function *chain[CHAIN_MAX];
    size_t count = 0;

    for (uint32_t number = key->function; number && count < CHAIN_MAX;) {
        chain[count] = ntk_neff_row_get(&f->program->positions->kernel.functions, number);
        number = chain[count++]->parent;
    }
    while (count-- > 0 && !f->failed) {
        const struct ntk_neff_function *function = chain[count];
        if (function->name[0]) {
            parent = frame_in(f, parent, function->name, strlen(function->name),
                              function->file[0] ? function->file : NULL, function->line);
        }
    }
    if (key->file) {
        struct ntk_buf text = { 0 };
        ntk_buf_add_format(&text, "%s:%u", ntk_str_base_name(key->file), key->line);
        if (ntk_buf_ok(&text) && !f->failed) {
            parent = frame_in(f, parent, ntk_buf_text_get(&text), text.bytes_count, key->file,
                              key->line);
        } else {
            f->failed = -ENOMEM;
        }
        ntk_buf_fini(&text);
    } else if (f->has_lines && !f->failed) {
        parent = frame_of(f, parent, key->is_runtime ? "(runtime)" : "(compiler)");
    }
    return parent;
}

static uint32_t stack_of(struct flame *f, uint32_t root, const struct key *key)
{
    char unnamed[8];
    uint32_t frame = frame_of(f, root, ntk_ntff_engine_title(key->engine));

    frame = f->failed ? 0 : layer_frames(f, frame, key->layer);
    frame = f->failed ? 0 : region_frames(f, frame, key->region);
    frame = f->failed ? 0 : source_frames(f, frame, key);
    return f->failed
               ? 0
               : frame_of(f, frame, ntk_ntff_opcode_name(key->opcode, unnamed, sizeof unnamed));
}

/* Adds stacks in whole ns: the truncated part of one stack is added to the next, so that sums are
 * exact. */
static int put_stacks(struct flame *f, uint32_t root, unsigned engine)
{
    /* from a frame to 1 + index in stacks, because groups may share a frame */
    struct ntk_map places = { 0 };
    int64_t sum_ps = 0;
    int64_t given_ns = 0;

    ntk_vec_each(const struct group, group, &f->groups) {
        if (group->key.engine != engine || f->failed) {
            continue;
        }
        uint32_t frame = stack_of(f, root, &group->key);
        uintptr_t at = frame ? (uintptr_t)ntk_map_get_number(&places, frame) : 0;
        if (frame && !at) {
            struct ntk_flame_stack stack = {
                .frame = frame - 1,
                .core = f->program->trace->cores[f->core_index].ntff->core,
                .engine = (uint8_t)engine,
            };
            at = f->result->stacks.count + 1;
            if (ntk_vec_push(&f->result->stacks, &stack) < 0 ||
                ntk_map_put_number(&places, frame, (void *)at) < 0) { // NOLINT(*-int-to-ptr)
                f->failed = -ENOMEM;
            }
        }
        if (f->failed) {
            break;
        }
        struct ntk_flame_stack *stack = ntk_vec_at(&f->result->stacks, at - 1);
        sum_ps += group->busy_ps;
        stack->busy_ns += sum_ps / NTK_TRACE_PS_PER_NS - given_ns;
        given_ns = sum_ps / NTK_TRACE_PS_PER_NS;
        stack->wait_ns = ntk_ps_sum(stack->wait_ns, group->wait_ns);
        stack->instruction_count += group->instruction_count;
    }
    ntk_map_fini(&places);
    return f->failed;
}

static int put_core(struct flame *f)
{
    const struct ntk_trace *trace = f->program->trace;
    uint32_t root = 0;
    char name[NTK_NTFF_NAME_BYTES + 32];

    if (trace->core_count > 1) {
        const struct ntk_ntff_subgraph *ntff = trace->cores[f->core_index].ntff;
        (void)snprintf(name, sizeof name, "NC %u (%s)", ntff->core, ntff->name);
        root = frame_of(f, 0, name);
    }
    for (unsigned e = 0; e < ENGINES && !f->failed; e++) {
        (void)put_stacks(f, root, e);
    }
    return f->failed;
}

int ntk_analysis_flame(const struct ntk_program *program, const struct ntk_regions *regions,
                       struct ntk_flame *out_flame)
{
    struct ntk_flame result = { .frames = NTK_VEC_INIT(struct ntk_flame_frame),
                                .stacks = NTK_VEC_INIT(struct ntk_flame_stack) };
    struct flame f = { .result = &result,
                       .program = program,
                       .regions = regions,
                       .has_lines = program->positions && (program->positions->line_count ||
                                                           program->positions->kernel_count),
                       .groups = NTK_VEC_INIT(struct group) };

    for (f.core_index = 0; f.core_index < program->trace->core_count && f.failed == 0;
         f.core_index++) {
        ntk_vec_clear(&f.groups);
        memset(f.last, 0, sizeof f.last);
        if (f.slots) {
            memset(f.slots, 0, f.slot_count * sizeof *f.slots);
        }
        f.failed = add_core(&f);
        f.failed = f.failed ? f.failed : put_core(&f);
    }
    free(f.slots);
    ntk_vec_fini(&f.groups);
    ntk_map_fini(&f.frames);
    ntk_buf_fini(&f.text);
    if (f.failed < 0) {
        ntk_flame_fini(&result);
        return f.failed;
    }
    *out_flame = result;
    return 0;
}

void ntk_flame_fini(struct ntk_flame *flame)
{
    ntk_vec_fini(&flame->frames);
    ntk_vec_fini(&flame->stacks);
    ntk_map_fini(&flame->names);
    *flame = (struct ntk_flame){ 0 };
}
