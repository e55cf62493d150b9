/* SPDX-License-Identifier: MIT */
/* vendor_names - finds semaphore names in queues, and function names in activation function
 * sets. */
#include "shared/formats/neff/vendor_names.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/json_place.h"
#include "shared/base/str.h"

/* Semaphores that the vendor's runtime assigns to engines in each program. */
static const struct {
    uint8_t number;
    const char *name;
} engine_semaphores[] = { { 3, "GpSimd" }, { 4, "Scalar" }, { 5, "Tensor" }, { 6, "Vector" } };

/* Sets a name unless it is already set. */
static int set_name(char **name, const char *text)
{
    char clean[3 * NTK_VENDOR_NAME_BYTES]; /* a byte may become U+FFFD */

    if (!*name) {
        ntk_str_copy_clean(clean, sizeof clean, text, strlen(text));
        *name = strdup(clean);
    }
    return *name ? 0 : -ENOMEM;
}

/* Removes the number of pieces, which is not part of the name: "exp_400p" becomes "exp". */
static void function_name(const char *from, char to[NTK_VENDOR_NAME_BYTES])
{
    snprintf(to, NTK_VENDOR_NAME_BYTES, "%s", from);
    size_t length = strlen(to);
    size_t end = length;

    if (end > 0 && to[end - 1] == 'p') {
        end--;
        while (end > 0 && to[end - 1] >= '0' && to[end - 1] <= '9') {
            end--;
        }
        if (end > 1 && end + 1 < length && to[end - 1] == '_') {
            to[end - 1] = '\0';
        }
    }
    for (char *c = to; *c; c++) {
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    }
}

int ntk_vendor_names_add_set(struct ntk_vendor_names *names, const void *json, size_t json_bytes)
{
    json_error_t error;
    json_t *root = json_loadb(json, json_bytes, 0, &error);
    const json_t *rows = json_object_get(root, "profile_meta_data");
    int ret = 0;

    for (size_t i = 0; i < json_array_size(rows) && ret == 0; i++) {
        const json_t *row = json_array_get(rows, i);
        const json_t *id = json_object_get(row, "func_id");
        const char *from = json_string_value(json_object_get(row, "func_name"));
        json_int_t number = json_is_integer(id) ? json_integer_value(id) : -1;
        char name[NTK_VENDOR_NAME_BYTES];

        if (from && number >= 0 && number < NTK_VENDOR_NUMBERS) {
            function_name(from, name);
            ret = set_name(&names->functions[number], name);
        }
    }
    json_decref(root);
    return ret;
}

/* Reads the names of functions. If a set's member is missing or does not fit into memory, its
 * functions have no names. */
static int name_functions(struct ntk_vendor_names *names, const struct ntk_neff *neff,
                          const struct ntk_neff_subgraph *subgraph)
{
    const struct ntk_neff_engine *engine = &subgraph->engines[NTK_ISA_ENGINE_ACT];
    int ret = 0;

    for (uint32_t s = 0; s < engine->set_count && ret == 0; s++) {
        char path[NTK_NEFF_MEMBER_NAME_MAX + 8];
        snprintf(path, sizeof path, "%s/%s.json", subgraph->folder, engine->sets[s]);
        const struct ntk_neff_member *member = ntk_neff_member_get(neff, path);
        if (member && member->bytes && !member->is_landed &&
            ntk_json_tree_bytes((const char *)member->bytes, member->bytes_count) <=
                ntk_neff_memory_left(neff)) {
            ret = ntk_vendor_names_add_set(names, member->bytes, member->bytes_count);
        }
    }
    return ret;
}

static int name_queues(struct ntk_vendor_names *names, const struct ntk_neff_subgraph *subgraph,
                       ntk_vendor_names_show *show)
{
    int ret = 0;

    for (uint32_t q = 0; q < subgraph->queue_set_count; q++) {
        const struct ntk_neff_queue_set *set = &subgraph->queue_sets[q];
        char shown[NTK_VENDOR_NAME_BYTES];
        show(set->name, shown, sizeof shown);
        for (uint32_t s = 0; s < set->semaphore_count && ret == 0; s++) {
            if (set->semaphores[s] < NTK_VENDOR_NUMBERS) {
                ret = set_name(&names->semaphores[set->semaphores[s]], shown);
            }
        }
    }
    return ret;
}

int ntk_vendor_names_init(struct ntk_vendor_names *names, const struct ntk_neff *neff,
                          const struct ntk_neff_subgraph *subgraph, ntk_vendor_names_show *show)
{
    int ret = 0;

    *names = (struct ntk_vendor_names){ 0 };
    if (subgraph) {
        ret = name_queues(names, subgraph, show);
    }
    if (ret == 0 && neff && subgraph) {
        ret = name_functions(names, neff, subgraph);
    }
    for (size_t i = 0; i < sizeof engine_semaphores / sizeof *engine_semaphores && ret == 0; i++) {
        ret = set_name(&names->semaphores[engine_semaphores[i].number], engine_semaphores[i].name);
    }
    if (ret < 0) {
        ntk_vendor_names_fini(names);
    }
    return ret;
}

void ntk_vendor_names_fini(struct ntk_vendor_names *names)
{
    for (size_t i = 0; names && i < NTK_VENDOR_NUMBERS; i++) {
        free(names->semaphores[i]);
        free(names->functions[i]);
    }
    if (names) {
        *names = (struct ntk_vendor_names){ 0 };
    }
}
