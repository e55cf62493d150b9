/* SPDX-License-Identifier: MIT */
/*
 * Where in the source instructions come from: recorded while a program is built, written as the
 * members that neff_positions.h and neff_kernel.h read.
 *
 * All slots of an instruction (its waits and signals too) have one BIR id, and each subgraph is a
 * kernel with its own Penguin id.
 */
#include "shared/formats/neff/neff_build_private.h"

#include <string.h>

#include "shared/base/json.h"

#define FIELD_BYTES 2 /* of a protobuf tag */

/* ---- recording ---- */

void ntk_neff_kernel_place(struct ntk_neff_kernel *kernel, const char *file, uint32_t line,
                           const char *function)
{
    struct build_place wanted = {
        .file = file, .function = function, .line = line, .parent = kernel->iteration
    };
    struct ntk_vec *places = &kernel->places;
    const struct build_place *last = kernel->place ? ntk_vec_at(places, kernel->place - 1) : NULL;

    if (neff_build_failed(kernel->build) || kernel == &kernel->build->dead ||
        (last && last->line == line && last->parent == wanted.parent && last->file == file)) {
        return;
    }
    if (ntk_vec_push(places, &wanted) < 0) {
        neff_build_no_memory(kernel->build);
        return;
    }
    kernel->place = (uint32_t)places->count;
}

uint64_t ntk_neff_kernel_loop(struct ntk_neff_kernel *kernel, const char *variable,
                              const char *file, uint32_t line, const char *function)
{
    struct build_place head = { .file = file,
                                .function = function,
                                .variable = variable,
                                .line = line,
                                .parent = kernel->iteration };

    kernel->place = 0;
    if (neff_build_failed(kernel->build) || kernel == &kernel->build->dead) {
        return 0;
    }
    if (ntk_vec_push(&kernel->places, &head) < 0) {
        neff_build_no_memory(kernel->build);
        return 0;
    }
    kernel->iteration = (uint32_t)kernel->places.count;
    return 0;
}

bool ntk_neff_kernel_iterate(struct ntk_neff_kernel *kernel, uint64_t value, bool goes_on)
{
    if (neff_build_failed(kernel->build) || !kernel->iteration) {
        return goes_on;
    }
    struct build_place one =
        *(struct build_place *)ntk_vec_at(&kernel->places, kernel->iteration - 1);

    kernel->place = 0;
    kernel->iteration = one.parent;
    if (goes_on) {
        one.value = value;
        if (ntk_vec_push(&kernel->places, &one) < 0) {
            neff_build_no_memory(kernel->build);
            return goes_on;
        }
        kernel->iteration = (uint32_t)kernel->places.count;
    }
    return goes_on;
}

bool ntk_neff_build_names_file(const struct ntk_neff_build *build, const char *file)
{
    for (size_t i = 0; i < build->nodes.count; i++) {
        const struct build_node *node = *(struct build_node **)ntk_vec_at(&build->nodes, i);

        ntk_vec_each(struct build_place, place, &node->kernel.places) {
            if (strcmp(place->file, file) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* ---- protobuf ---- */

static void put_varint(struct ntk_buf *to, uint64_t value)
{
    for (; value > 127; value >>= 7) {
        ntk_buf_put_u8(to, (uint8_t)(value | 128));
    }
    ntk_buf_put_u8(to, (uint8_t)value);
}

static void put_number(struct ntk_buf *to, uint32_t field, uint64_t value)
{
    put_varint(to, field << 3);
    put_varint(to, value);
}

static void put_bytes(struct ntk_buf *to, uint32_t field, const void *bytes, size_t bytes_count)
{
    put_varint(to, field << 3 | FIELD_BYTES);
    put_varint(to, bytes_count);
    ntk_buf_add(to, bytes, bytes_count);
}

static void put_text(struct ntk_buf *to, uint32_t field, const char *text)
{
    put_bytes(to, field, text, strlen(text));
}

/* And empties it. */
static void put_message(struct ntk_buf *to, uint32_t field, struct ntk_buf *message)
{
    put_bytes(to, field, message->bytes, message->bytes_count);
    ntk_buf_reset(message);
}

static void put_packed(struct ntk_buf *to, uint32_t field, uint64_t value)
{
    struct ntk_buf list = { 0 };

    put_varint(&list, value);
    put_message(to, field, &list);
    ntk_buf_fini(&list);
}

static void put_pair(struct ntk_buf *to, const char *key, uint64_t value)
{
    struct ntk_buf pair = { 0 };
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    put_text(&pair, 1, key);
    put_text(&pair, 2, text);
    put_message(to, 7, &pair);
    ntk_buf_fini(&pair);
}

/* ---- members of an engine ---- */

struct located { /* an instruction with a place */
    uint32_t place;
    uint32_t id;
};

/* Its number in the table, where it is added when it is new. */
static uint64_t file_number(struct ntk_neff_build *build, struct ntk_vec *files, const char *file)
{
    for (size_t i = 0; i < files->count; i++) {
        if (strcmp(*(const char **)ntk_vec_at(files, i), file) == 0) {
            return i;
        }
    }
    if (ntk_vec_push(files, &file) < 0) {
        neff_build_no_memory(build);
    }
    return files->count - 1;
}

static void make_engine(struct ntk_neff_kernel *kernel, const struct build_subgraph *subgraph,
                        int engine, struct ntk_vec *located)
{
    struct ntk_neff_build *build = kernel->build;
    struct ntk_buf slots = { 0 };
    struct ntk_buf rows = { 0 };
    struct ntk_buf row = { 0 };
    struct ntk_vec files = NTK_VEC_INIT(const char *);
    const char *file_name = neff_build_engine_file(engine);
    char name[64];

    put_text(&slots, 1, "instructions of the compiler, one entry per slot");
    snprintf(name, sizeof name, "debug_info_backend_%s.dbg", file_name);
    put_text(&slots, 2, name);
    put_text(&rows, 1, "instructions of the compiler and their lines");
    ntk_vec_each(struct build_instr, instr, &subgraph->engines[engine].program) {
        struct located one = { .place = instr->place, .id = (uint32_t)located->count + 1 };

        for (uint32_t s = 0; s < instr->slot_count; s++) {
            if (instr->place) {
                put_packed(&row, 3, one.id);
            }
            put_message(&slots, 3, &row);
        }
        if (!instr->place) {
            continue;
        }
        const struct build_place *place = ntk_vec_at(&kernel->places, instr->place - 1);

        snprintf(name, sizeof name, "inst.%u", one.id);
        put_number(&row, 1, one.id);
        put_text(&row, 2, name);
        put_packed(&row, 3, subgraph->index + UINT64_C(1));
        put_pair(&row, "kernel_file", file_number(build, &files, place->file));
        put_pair(&row, "kernel_line", place->line);
        put_pair(&row, "kernel_name", 0);
        put_message(&rows, 3, &row);
        if (ntk_vec_push(located, &one) < 0) {
            neff_build_no_memory(build);
        }
    }
    ntk_vec_each(const char *, file, &files) {
        put_text(&rows, 5, *file);
    }
    put_text(&rows, 7, kernel->node->name);
    snprintf(name, sizeof name, "sg%02u/debug_info_asm_%s.dbg", subgraph->index, file_name);
    neff_build_finish_member(build, name, &slots);
    snprintf(name, sizeof name, "sg%02u/debug_info_backend_%s.dbg", subgraph->index, file_name);
    neff_build_finish_member(build, name, &rows);
    ntk_buf_fini(&row);
    ntk_vec_fini(&files);
}

/* ---- the kernel tree ---- */

struct level { /* of the nodes that are open; iteration 0: a function */
    const char *file;
    const char *function;
    uint32_t iteration; /* 1 + index of its place */
};

static size_t open_function(struct level *levels, size_t count, const struct build_place *place)
{
    for (size_t i = count; i-- > 0;) {
        if (levels[i].iteration == 0) {
            if (strcmp(levels[i].function, place->function) == 0) {
                return count;
            }
            break;
        }
    }
    levels[count] = (struct level){ place->file, place->function, 0 };
    return count + 1;
}

/* What is around a place, from outside; at most 2 levels for each loop, and 1. */
static size_t levels_of(const struct ntk_vec *places, const struct build_place *place,
                        struct level levels[NTK_NEFF_BUILD_LOOPS_MAX * 2 + 1])
{
    uint32_t path[NTK_NEFF_BUILD_LOOPS_MAX];
    size_t depth = 0;
    size_t count = 0;

    for (uint32_t i = place->parent; i && depth < NTK_NEFF_BUILD_LOOPS_MAX;) {
        path[depth++] = i;
        i = ((const struct build_place *)ntk_vec_at(places, i - 1))->parent;
    }
    while (depth > 0) {
        const struct build_place *loop = ntk_vec_at(places, path[--depth] - 1);

        count = open_function(levels, count, loop);
        levels[count++] = (struct level){ loop->file, loop->function, path[depth] };
    }
    return open_function(levels, count, place);
}

static bool is_same_level(const struct level *a, const struct level *b)
{
    return a->iteration == b->iteration && (a->iteration || strcmp(a->function, b->function) == 0);
}

static void open_level(struct ntk_json *json, const struct ntk_vec *places,
                       const struct level *level)
{
    char value[24];

    ntk_json_object_begin(json);
    ntk_json_key_object_begin(json, level->iteration ? "iter" : "func");
    if (level->iteration) {
        const struct build_place *loop = ntk_vec_at(places, level->iteration - 1);

        snprintf(value, sizeof value, "%llu", (unsigned long long)loop->value);
        ntk_json_key_text(json, "var", loop->variable);
        ntk_json_key_text(json, "val", value);
        ntk_json_key_u64(json, "line", loop->line);
    } else {
        ntk_json_key_text(json, "name", level->function);
        ntk_json_key_text(json, "file", level->file);
    }
    ntk_json_key_array_begin(json, "children");
}

static void close_level(struct ntk_json *json)
{
    ntk_json_array_end(json);
    ntk_json_object_end(json);
    ntk_json_object_end(json);
}

static int compare_located(const void *a, const void *b)
{
    const struct located *x = a;
    const struct located *y = b;

    return x->place != y->place ? (x->place > y->place) - (x->place < y->place)
                                : (x->id > y->id) - (x->id < y->id);
}

/* In the order of the source's execution, all engines together. */
static void make_tree(struct ntk_neff_kernel *kernel, const char *member, struct ntk_vec *located)
{
    struct level open[NTK_NEFF_BUILD_LOOPS_MAX * 2 + 1];
    struct level wanted[NTK_NEFF_BUILD_LOOPS_MAX * 2 + 1];
    size_t open_count = 0;
    struct ntk_buf buf = { 0 };
    struct ntk_json json;
    char name[32];

    ntk_vec_sort(located, compare_located);
    ntk_json_init(&json, &buf, false);
    ntk_json_array_begin(&json);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "lnc", kernel->build->options.lnc);
    ntk_json_key_array_begin(&json, "info");
    ntk_vec_each(struct located, one, located) {
        const struct build_place *place = ntk_vec_at(&kernel->places, one->place - 1);
        size_t count = levels_of(&kernel->places, place, wanted);
        size_t same = 0;

        while (same < open_count && same < count && is_same_level(&open[same], &wanted[same])) {
            same++;
        }
        for (; open_count > same; open_count--) {
            close_level(&json);
        }
        for (; open_count < count; open_count++) {
            open[open_count] = wanted[open_count];
            open_level(&json, &kernel->places, &open[open_count]);
        }
        snprintf(name, sizeof name, "inst.%u", one->id);
        ntk_json_object_begin(&json);
        ntk_json_key_object_begin(&json, "inst");
        ntk_json_key_text(&json, "name", name);
        ntk_json_key_u64(&json, "line", place->line);
        ntk_json_object_end(&json);
        ntk_json_object_end(&json);
    }
    for (; open_count > 0; open_count--) {
        close_level(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_json_array_end(&json);
    neff_build_finish_member(kernel->build, member, &buf);
}

void neff_build_positions(struct ntk_neff_build *build)
{
    struct ntk_buf kernels = { 0 };
    struct ntk_buf operations = { 0 };
    struct ntk_buf row = { 0 };
    struct ntk_json json;
    bool is_any = false;

    ntk_json_init(&json, &kernels, false);
    ntk_json_object_begin(&json);
    ntk_json_key_array_begin(&json, "debug_info_files");
    put_text(&operations, 1, "kernels of the program");
    for (size_t i = 0; i < build->nodes.count; i++) {
        struct build_node *node = *(struct build_node **)ntk_vec_at(&build->nodes, i);

        for (uint32_t s = 0; node->kernel.places.count && s < build->options.lnc; s++) {
            const struct build_subgraph *subgraph = &node->kernel.subgraphs[s];
            struct ntk_vec located = NTK_VEC_INIT(struct located);
            char member[NTK_NEFF_MEMBER_NAME_MAX];

            for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
                make_engine(&node->kernel, subgraph, e, &located);
            }
            if (located.count == 0) {
                continue;
            }
            snprintf(member, sizeof member, "kernel_sg%02u.klir.debuginfo.json", subgraph->index);
            make_tree(&node->kernel, member, &located);
            ntk_vec_fini(&located);
            ntk_json_object_begin(&json);
            ntk_json_key_text(&json, "file_name", member);
            ntk_json_key_text(&json, "kernel_name", node->name);
            ntk_json_key_u64(&json, "parent_tensorizer_id", subgraph->index + UINT64_C(1));
            ntk_json_object_end(&json);
            put_number(&row, 1, subgraph->index + UINT64_C(1));
            put_text(&row, 2, node->name);
            put_message(&operations, 3, &row);
            is_any = true;
        }
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    if (is_any) {
        neff_build_finish_member(build, "kernel_debug_info.json", &kernels);
        neff_build_finish_member(build, "debug_info/debug_info_penguin.dbg_sg000000", &operations);
    }
    ntk_buf_fini(&kernels);
    ntk_buf_fini(&operations);
    ntk_buf_fini(&row);
}
