/* SPDX-License-Identifier: MIT */
/* instruction_label - counts instructions by their Penguin id, once per core. */
#include "profiler/analysis/instruction_label.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/map.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff_debug.h"

struct text { /* a text of a Penguin id */
    const struct ntk_neff_debug_instruction *first;
    size_t count;
    bool has_lines; /* has several lines */
};

struct ntk_labels {
    size_t named_count;     /* number of instructions with a Penguin id */
    struct ntk_map indices; /* maps id + 1 to index + 1 */
    struct ntk_vec texts;   /* elements are struct text */
    bool has_layers;        /* has several layers */
};

static bool is_line(const struct ntk_neff_debug_instruction *one)
{
    return one->file && one->line;
}

static int add(struct ntk_labels *labels, const struct ntk_neff_debug_instruction *one)
{
    uintptr_t number = (uintptr_t)ntk_map_get_number(&labels->indices, one->penguin_id + 1);
    struct text *text;

    if (!number) {
        text = ntk_vec_add(&labels->texts);
        if (!text || ntk_map_put_number(&labels->indices, one->penguin_id + 1,
                                        (void *)(uintptr_t)labels->texts.count) < 0) {
            return -1;
        }
        *text = (struct text){ .first = one };
    } else {
        text = ntk_vec_at(&labels->texts, number - 1);
    }
    if (is_line(one) && !is_line(text->first)) {
        text->first = one;
    }
    text->has_lines =
        text->has_lines || (is_line(one) && (one->line != text->first->line ||
                                             strcmp(one->file, text->first->file) != 0));
    text->count++;
    labels->named_count++;
    return 0;
}

struct ntk_labels *ntk_labels_create(const struct ntk_program *program, size_t core_index)
{
    const struct ntk_neff_debug *names = program->names[core_index];
    struct ntk_labels *labels = calloc(1, sizeof *labels);

    if (!labels) {
        return NULL;
    }
    ntk_vec_init(&labels->texts, sizeof(struct text));
    labels->has_layers = program->layer_count > NTK_LAYER_RUNTIME + 2;
    for (size_t i = 0; names && i < names->instruction_count; i++) {
        if (names->instructions[i].has_penguin && add(labels, &names->instructions[i]) < 0) {
            ntk_labels_destroy(labels);
            return NULL;
        }
    }
    return labels;
}

void ntk_labels_destroy(struct ntk_labels *labels)
{
    if (!labels) {
        return;
    }
    ntk_map_fini(&labels->indices);
    ntk_vec_fini(&labels->texts);
    free(labels);
}

bool ntk_labels_is_layer(const struct ntk_labels *labels, const struct ntk_slot_fact *fact)
{
    return labels->has_layers && fact->code->layer > NTK_LAYER_RUNTIME;
}

bool ntk_labels_is_kernel(const struct ntk_labels *labels, const struct ntk_slot_fact *fact)
{
    const struct ntk_neff_debug_instruction *named = fact->named;

    if (!named || !named->has_penguin || ntk_labels_is_layer(labels, fact)) {
        return false;
    }
    uintptr_t number = (uintptr_t)ntk_map_get_number(&labels->indices, named->penguin_id + 1);
    const struct text *text = number ? ntk_vec_at(&labels->texts, number - 1) : NULL;
    bool has_variables = named->penguin_text && strchr(named->penguin_text, '[');

    return text && (text->has_lines || (!is_line(text->first) && !has_variables &&
                                        text->count > 2 && text->count > labels->named_count / 2));
}

const char *ntk_label_line(const struct ntk_slot_fact *fact, char *buf, size_t buf_bytes)
{
    buf[0] = '\0';
    if (fact->named && is_line(fact->named)) {
        snprintf(buf, buf_bytes, "%s:%u", ntk_str_base_name(fact->named->file), fact->named->line);
    }
    return buf;
}

const char *ntk_label_get(const struct ntk_labels *labels, const struct ntk_slot_fact *fact,
                          char *buf, size_t buf_bytes)
{
    const struct ntk_neff_debug_instruction *named = fact->named;
    bool is_kernel = ntk_labels_is_kernel(labels, fact);

    buf[0] = '\0';
    if (ntk_labels_is_layer(labels, fact)) {
        return buf;
    }
    if (named && named->penguin_text && !is_kernel) {
        const char *variable = strchr(named->penguin_text, '$');
        snprintf(buf, buf_bytes, "%s", variable ? variable : named->penguin_text);
    } else if (!ntk_label_line(fact, buf, buf_bytes)[0] && is_kernel) {
        snprintf(buf, buf_bytes, "%s", named->name);
    }
    return buf;
}
