/* SPDX-License-Identifier: MIT */
/* neff_build_tree - writes the kernel tree of source positions, which neff_kernel.h reads:
 * functions and iterations around each instruction. */
#include "shared/formats/neff/neff_build_private.h"

#include <string.h>

#include "shared/base/json.h"
#include "shared/base/order.h"

struct level { /* an open node of the tree; iteration 0: a function */
    const char *file;
    const char *function;
    uint32_t iteration; /* 1 + index of the iteration's place */
};

static size_t open_function(struct level *levels, size_t count, const struct build_place *place)
{
    for (size_t i = count; i-- > 0;) {
        if (levels[i].iteration == 0) {
            if (strcmp(levels[i].function, place->at.function) == 0) {
                return count;
            }
            break;
        }
    }
    levels[count] = (struct level){ place->at.file, place->at.function, 0 };
    return count + 1;
}

/* Lists the levels around a place from the outside: at most 2 for each loop, plus 1. */
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
        levels[count++] = (struct level){ loop->at.file, loop->at.function, path[depth] };
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
        ntk_json_key_u64(json, "line", loop->at.line);
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

NTK_ORDER(compare_located, struct build_located, NTK_UP(place) NTK_UP(id));

/* The tree follows the source's order of execution across all engines. */
void neff_build_tree(struct ntk_neff_kernel *kernel, const char *member, struct ntk_vec *located)
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
    ntk_vec_each(struct build_located, one, located) {
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
        ntk_json_key_u64(&json, "line", place->at.line);
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
