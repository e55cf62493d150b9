/* SPDX-License-Identifier: MIT */
/* neff_positions - joins slots, back-end instructions and kernel instructions. */
#include "shared/formats/neff/neff_positions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/bisect.h"
#include "shared/base/json.h"
#include "shared/base/order.h"

#define ENTRIES_MAX 64 /* maximum entries tried for one name: a real file has one per core */

/* A kernel instruction, found by the beginning of back-end names. */
struct stem {
    uint64_t penguin_id, number;
    uint32_t file; /* file of the tree */
    uint32_t tree;
    uint32_t instruction; /* index of the instruction */
};

struct joiner {
    struct ntk_neff_positions *positions;
    size_t stem_count;
    struct stem *stems; /* sorted by Penguin id, number, then file order */
    size_t near;        /* end of the last search, because the next stem is usually near it */
    bool *is_chosen;    /* per tree: chosen for this core among the trees of its file */
    size_t *hits;       /* per tree: number of this core's names in it */
    /* the last file, and its number below, because most slots have the previous slot's file */
    const char *file;
    uint32_t file_number;
    const char *path; /* path of the tree that was last compared with the file of this number */
    uint32_t path_file;
    bool is_path;
};

static int warn(void *ctx, const char *text)
{
    struct ntk_neff_positions *positions = ctx;
    char *copy = strdup(text);

    if (!copy || ntk_vec_push(&positions->warnings, &copy) < 0) {
        free(copy);
        return -ENOMEM;
    }
    return 0;
}

static const struct ntk_neff_kernel_tree *tree_of(const struct ntk_neff_kernel *kernel,
                                                  uint32_t index)
{
    return (const struct ntk_neff_kernel_tree *)kernel->trees.items + index;
}

NTK_ORDER(compare_stems, struct stem, NTK_UP(penguin_id) NTK_UP(number) NTK_UP(instruction));

static bool is_same_stem(const struct stem *a, const struct stem *b)
{
    return a->penguin_id == b->penguin_id && a->number == b->number;
}

/* Indexes all stems. The first of two files is used; within one file, every entry may belong to
 * another core. */
static int index_stems(struct joiner *j)
{
    const struct ntk_neff_kernel *kernel = &j->positions->kernel;
    const struct ntk_neff_kernel_instruction *all = kernel->instructions.items;
    size_t twice = 0;
    size_t kept = 0;
    char text[160];

    j->stems = calloc(kernel->instructions.count + 1, sizeof *j->stems);
    j->is_chosen = calloc(kernel->trees.count + 1, sizeof *j->is_chosen);
    j->hits = calloc(kernel->trees.count + 1, sizeof *j->hits);
    if (!j->stems || !j->is_chosen || !j->hits) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < kernel->instructions.count; i++) {
        if (all[i].number != UINT64_MAX) {
            const struct ntk_neff_kernel_tree *tree = tree_of(kernel, all[i].tree);
            j->stems[j->stem_count++] = (struct stem){ tree->penguin_id, all[i].number, tree->file,
                                                       all[i].tree, (uint32_t)i };
        }
    }
    bool is_sorted = true;
    for (size_t i = 1; i < j->stem_count && is_sorted; i++) {
        is_sorted = compare_stems(&j->stems[i - 1], &j->stems[i]) < 0;
    }
    if (!is_sorted) {
        qsort(j->stems, j->stem_count, sizeof *j->stems, compare_stems);
    }
    for (size_t i = 0; i < j->stem_count; i++) { /* the first of each entry is used, too */
        if (!kept || !is_same_stem(&j->stems[kept - 1], &j->stems[i]) ||
            j->stems[kept - 1].tree != j->stems[i].tree) {
            j->stems[kept++] = j->stems[i];
        }
    }
    j->stem_count = kept;
    for (size_t i = 1; i < j->stem_count; i++) {
        twice += is_same_stem(&j->stems[i - 1], &j->stems[i]) &&
                 j->stems[i - 1].file != j->stems[i].file;
    }
    if (!twice) {
        return 0;
    }
    snprintf(text, sizeof text, "%zu kernel instructions appear in two files; using the first",
             twice);
    return warn(j->positions, text);
}

/* Finds the first candidates for a back-end instruction; NULL if there are none. */
static const struct stem *find_stems(struct joiner *j,
                                     const struct ntk_neff_debug_instruction *instruction)
{
    struct stem key = { .penguin_id = instruction->penguin_id };
    size_t low = 0;
    size_t high = j->stem_count;

    if (!instruction->has_penguin || !high ||
        !ntk_neff_kernel_number(instruction->name, &key.number)) {
        return NULL;
    }
    if (compare_stems(&j->stems[j->near], &key) < 0) { /* search from there with doubling steps */
        low = j->near + 1;
        for (size_t step = 1; step < high - low; step *= 2) {
            if (compare_stems(&j->stems[low + step - 1], &key) >= 0) {
                high = low + step - 1;
                break;
            }
            low += step;
        }
    }
    NTK_BISECT(low, high, i, compare_stems(&j->stems[i], &key) < 0);
    j->near = low < j->stem_count ? low : 0;
    return low < j->stem_count && is_same_stem(&j->stems[low], &key) ? &j->stems[low] : NULL;
}

#define EACH_STEM(j, first, name)                                                       \
    for (const struct stem *name = (first);                                             \
         name && name < (j)->stems + (j)->stem_count && name - (first) < ENTRIES_MAX && \
         is_same_stem(name, first);                                                     \
         name++)

/* Chooses among the entries of a file the one that contains most names of this core; of equal ones,
 * the one with the core's number, else the first. */
static void choose_trees(struct joiner *j, const struct ntk_neff_debug *debug)
{
    const struct ntk_neff_kernel *kernel = &j->positions->kernel;
    size_t count = kernel->trees.count;

    bool is_plain = count && tree_of(kernel, (uint32_t)count - 1)->file + 1 == count;
    memset(j->hits, 0, count * sizeof *j->hits);
    memset(j->is_chosen, 0, count * sizeof *j->is_chosen);
    for (size_t i = 0; i < debug->instruction_count && !is_plain; i++) {
        const struct stem *first = find_stems(j, &debug->instructions[i]);
        EACH_STEM(j, first, stem)
        {
            j->hits[stem->tree]++;
        }
    }
    for (size_t first = 0, next; first < count; first = next) {
        size_t best = first;
        for (next = first; next < count && tree_of(kernel, (uint32_t)next)->file ==
                                               tree_of(kernel, (uint32_t)first)->file;
             next++) {
            bool is_own = next - first == debug->subgraph;
            best = j->hits[next] > j->hits[best] || (is_own && j->hits[next] == j->hits[best])
                       ? next
                       : best;
        }
        j->is_chosen[best] = true;
    }
}

static int file_number(struct joiner *j, const char *file, uint32_t *out)
{
    struct ntk_map *files = &j->positions->files;

    if (file != j->file) {
        uintptr_t number = (uintptr_t)ntk_map_get(files, file);
        if (!number) {
            number = files->count + 1;
            if (ntk_map_put(files, file, (void *)number) < 0) {
                return -ENOMEM;
            }
        }
        j->file = file;
        j->file_number = (uint32_t)number;
    }
    *out = j->file_number;
    return 0;
}

/* Returns true if the tree's path equals the back end's path. They are usually the same two paths
 * as before. */
static bool is_file(struct joiner *j, const char *path, uint32_t file)
{
    if (path != j->path || file != j->path_file) {
        j->path = path;
        j->path_file = file;
        j->is_path = strcmp(path, j->positions->files.entries[file - 1].key) == 0;
    }
    return j->is_path;
}

static bool is_other_line(struct joiner *j, const struct ntk_neff_position *at)
{
    const struct ntk_neff_positions *positions = j->positions;
    const struct ntk_neff_kernel_instruction *instruction =
        ntk_neff_position_instruction(positions, at);
    const struct ntk_neff_function *function = ntk_neff_position_function(positions, instruction);

    if (!at->file || !instruction || !instruction->line) {
        return false;
    }
    return instruction->line != at->line || !function || !is_file(j, function->file, at->file);
}

static int join_slot(struct joiner *j, const struct ntk_neff_debug_instruction *instruction,
                     size_t core, struct ntk_neff_position *to)
{
    struct ntk_neff_positions *positions = j->positions;
    const struct stem *first = find_stems(j, instruction);
    int ret = instruction->file ? file_number(j, instruction->file, &to->file) : 0;

    if (ret < 0) {
        return ret;
    }
    to->line = to->file ? instruction->line : 0;
    EACH_STEM(j, first, stem)
    {
        if (j->is_chosen[stem->tree]) {
            uint32_t *runs = &positions->tree_cores[stem->tree];
            to->instruction = stem->instruction + 1;
            *runs = *runs == NTK_NEFF_POSITION_CORE_NONE ? (uint32_t)core : *runs;
            break;
        }
    }
    positions->line_count += to->file != 0;
    positions->kernel_count += to->instruction != 0;
    positions->differing_count += is_other_line(j, to);
    return 0;
}

static int join_core(struct joiner *j, const struct ntk_neff_debug *debug, size_t core)
{
    struct ntk_neff_core_positions *to = &j->positions->cores[core];

    choose_trees(j, debug);
    for (unsigned e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        to->slots[e] = calloc(debug->slot_counts[e] + 1, sizeof *to->slots[e]);
        if (!to->slots[e]) {
            return -ENOMEM;
        }
        to->slot_counts[e] = debug->slot_counts[e];
        for (size_t s = 0; s < debug->slot_counts[e]; s++) {
            uint64_t id;
            const struct ntk_neff_debug_instruction *instruction =
                ntk_neff_debug_bir_id(debug, (enum ntk_isa_engine)e, s, &id)
                    ? ntk_neff_debug_find(debug, id)
                    : NULL;
            int ret = instruction ? join_slot(j, instruction, core, &to->slots[e][s]) : 0;
            if (ret < 0) {
                return ret;
            }
        }
    }
    return 0;
}

static int join(struct joiner *j, struct ntk_neff_debug *const *debugs)
{
    struct ntk_neff_positions *positions = j->positions;
    size_t bad_count = 0;
    char text[160];
    int ret = index_stems(j);

    for (size_t c = 0; c < positions->core_count && ret == 0; c++) {
        if (debugs[c]) {
            ret = join_core(j, debugs[c], c);
            bad_count += debugs[c]->bad_position_count;
            if (ret == 0 && debugs[c]->hlo_err.text[0]) {
                ret = warn(positions, ntk_err_format(&debugs[c]->hlo_err, text, sizeof text));
            }
        }
    }
    if (ret == 0 && bad_count) {
        snprintf(text, sizeof text, "%zu instructions refer to a file or line that does not exist",
                 bad_count);
        ret = warn(positions, text);
    }
    if (ret == 0 && positions->differing_count) {
        snprintf(text, sizeof text,
                 "the kernel tree and the back end disagree on the lines of %zu slots; sums use "
                 "those of the back end",
                 positions->differing_count);
        ret = warn(positions, text);
    }
    free(j->stems);
    free(j->is_chosen);
    free(j->hits);
    return ret;
}

int ntk_neff_positions_create(const struct ntk_neff *neff, struct ntk_neff_debug *const *debugs,
                              size_t core_count, struct ntk_neff_positions **out_positions)
{
    struct ntk_neff_positions *positions = calloc(1, sizeof *positions);
    struct joiner j = { .positions = positions };
    uint64_t memory = ntk_neff_memory_left(neff);
    struct ntk_err err = { 0 };
    char text[NTK_ERR_TEXT_BYTES];

    if (!positions) {
        return -ENOMEM;
    }
    positions->core_count = core_count;
    positions->cores = calloc(core_count + 1, sizeof *positions->cores);
    ntk_vec_init(&positions->warnings, sizeof(char *));
    int ret = positions->cores
                  ? ntk_neff_kernel_read(neff, memory / 2, warn, positions, &positions->kernel)
                  : -ENOMEM;
    if (ret == 0) {
        ret = ntk_neff_frames_read(neff, memory / 4, &positions->frames, &err);
        ret = ret == -EBADMSG ? warn(positions, ntk_err_format(&err, text, sizeof text)) : ret;
    }
    if (ret == 0) {
        positions->tree_cores =
            malloc((positions->kernel.trees.count + 1) * sizeof *positions->tree_cores);
        ret = positions->tree_cores ? 0 : -ENOMEM;
    }
    if (ret == 0) {
        memset(positions->tree_cores, 0xff,
               (positions->kernel.trees.count + 1) * sizeof *positions->tree_cores);
        ret = join(&j, debugs);
    }
    bool is_empty = !positions->line_count && !positions->kernel.trees.count &&
                    !positions->frames.frames.count && !positions->warnings.count;
    if (ret < 0 || is_empty) {
        ntk_neff_positions_destroy(positions);
        positions = NULL;
    }
    if (ret == 0) {
        *out_positions = positions;
    }
    return ret;
}

void ntk_neff_positions_destroy(struct ntk_neff_positions *positions)
{
    if (!positions) {
        return;
    }
    for (size_t c = 0; positions->cores && c < positions->core_count; c++) {
        for (unsigned e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
            free(positions->cores[c].slots[e]);
        }
    }
    ntk_vec_each(char *, text, &positions->warnings) {
        free(*text);
    }
    ntk_vec_fini(&positions->warnings);
    ntk_neff_frames_fini(&positions->frames);
    ntk_neff_kernel_fini(&positions->kernel);
    ntk_map_fini(&positions->files);
    free(positions->tree_cores);
    free(positions->cores);
    free(positions);
}

/* ---- texts ---- */

size_t ntk_neff_position_path(const struct ntk_neff_positions *positions,
                              const struct ntk_neff_position *at,
                              const struct ntk_neff_iteration *out_path[NTK_NEFF_KERNEL_DEPTH_MAX])
{
    const struct ntk_neff_iteration *iteration =
        at ? ntk_neff_position_iteration(positions, ntk_neff_position_instruction(positions, at))
           : NULL;
    size_t count = iteration ? iteration->depth + 1 : 0;

    for (size_t i = count; i-- > 0; iteration = ntk_neff_iteration_parent(positions, iteration)) {
        out_path[i] = iteration;
    }
    return count;
}

void ntk_neff_iteration_value_add(const struct ntk_neff_iteration *iteration, struct ntk_buf *out)
{
    if (iteration->text) {
        ntk_buf_add_text(out, iteration->text);
    } else {
        ntk_buf_add_i64(out, iteration->value);
    }
}

void ntk_neff_position_path_add(const struct ntk_neff_positions *positions,
                                const struct ntk_neff_position *at, struct ntk_buf *out)
{
    const struct ntk_neff_iteration *path[NTK_NEFF_KERNEL_DEPTH_MAX];
    size_t count = ntk_neff_position_path(positions, at, path);

    for (size_t i = 0; i < count; i++) {
        ntk_buf_add_text(out, i ? "," : "");
        ntk_buf_add_text(out, path[i]->variable);
        ntk_buf_add_char(out, '=');
        ntk_neff_iteration_value_add(path[i], out);
    }
}

void ntk_neff_position_path_json_add(const struct ntk_neff_positions *positions,
                                     const struct ntk_neff_position *at, struct ntk_buf *out)
{
    const struct ntk_neff_iteration *path[NTK_NEFF_KERNEL_DEPTH_MAX];
    size_t count = ntk_neff_position_path(positions, at, path);

    for (size_t i = 0; i < count; i++) {
        ntk_buf_add_text(out, i ? ",{\"name\":" : "[{\"name\":");
        ntk_json_add_quoted(out, path[i]->variable);
        ntk_buf_add_text(out, ",\"value\":");
        if (path[i]->text) {
            ntk_json_add_quoted(out, path[i]->text);
        } else {
            ntk_buf_add_i64(out, path[i]->value);
        }
        ntk_buf_add_text(out, ",\"line\":");
        ntk_buf_add_u64(out, path[i]->line);
        ntk_buf_add_text(out, i + 1 < count ? "}" : "}]");
    }
}

static void add_line(const char *file, uint32_t line, struct ntk_buf *out)
{
    ntk_buf_add_text(out, file);
    ntk_buf_add_char(out, ':');
    ntk_buf_add_u64(out, line);
}

bool ntk_neff_kernel_line_add(const struct ntk_neff_positions *positions,
                              const struct ntk_neff_kernel_instruction *instruction,
                              struct ntk_buf *out)
{
    const struct ntk_neff_function *function = ntk_neff_position_function(positions, instruction);

    if (!function || !function->file[0] || !instruction->line) {
        return false;
    }
    add_line(function->file, instruction->line, out);
    return true;
}

bool ntk_neff_position_line_add(const struct ntk_neff_positions *positions,
                                const struct ntk_neff_position *at, struct ntk_buf *out)
{
    if (!at || !at->file) {
        return at && ntk_neff_kernel_line_add(positions,
                                              ntk_neff_position_instruction(positions, at), out);
    }
    add_line(ntk_neff_position_file(positions, at), at->line, out);
    return true;
}

void ntk_neff_kernel_name_add(const struct ntk_neff_kernel_instruction *instruction,
                              struct ntk_buf *out)
{
    if (instruction->name) {
        ntk_buf_add_text(out, instruction->name);
    } else {
        ntk_buf_add_text(out, "inst.");
        ntk_buf_add_u64(out, instruction->number);
    }
}

void ntk_neff_kernel_id_add(const struct ntk_neff_positions *positions,
                            const struct ntk_neff_kernel_instruction *instruction,
                            struct ntk_buf *out)
{
    ntk_neff_kernel_name_add(instruction, out);
    ntk_buf_add_char(out, ':');
    ntk_buf_add_u64(out, tree_of(&positions->kernel, instruction->tree)->penguin_id);
}
