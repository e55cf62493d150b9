/* SPDX-License-Identifier: MIT */
/*
 * model_tree - builds rows of memory by place.
 *
 * A leaf has the bytes of one group, of one model or of none, on one logical core or on none.
 * Leaves are sorted by place; a row is the sum of the leaves below it, so a parent always equals
 * its children. A leaf without a group only means that a core is owned or a model is loaded.
 */
#include "top/model/model_tree.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"

#define EXCEPTIONS_MAX 8192 /* maximum number of remembered items; beyond it all are forgotten */
#define NO_DEVICE INT32_MAX /* sorts after the devices */

struct item {
    int32_t device;     /* NO_DEVICE if it belongs to no core */
    int32_t core;       /* logical core in its device; -1 with NO_DEVICE */
    uint32_t model_id;  /* 0 if it belongs to no model */
    int32_t group;      /* enum ntk_top_group; -1 if none */
    uint64_t owner;     /* start time of the model's process; 0 without a model */
    uint32_t owner_pid; /* pid inside its container; 0 without a model */
    bool knows_device;  /* its device memory is known, even if it is 0 */
    bool knows_host;
    bool lacks_device; /* it exists, but is not reported completely */
    bool lacks_host;
    bool estimated; /* the model is estimated */
    bool is_memory_estimated;
    const char *name; /* name of the model; borrowed from the snapshot */
    uint64_t device_bytes;
    uint64_t host_bytes;
};

static const char *const group_names[NTK_TOP_GROUP_COUNT] = {
    [NTK_TOP_GROUP_TENSORS] = "Tensors",
    [NTK_TOP_GROUP_CONSTANTS] = "Constants",
    [NTK_TOP_GROUP_DMA_BUFFERS] = "DMA Buffers",
    [NTK_TOP_GROUP_APP_MEMORY] = "App. Memory",
    [NTK_TOP_GROUP_MODEL_CODE] = "Model Code",
    [NTK_TOP_GROUP_RUNTIME_MEMORY] = "Runtime Memory",
    [NTK_TOP_GROUP_SCRATCHPAD] = "Model Scratchpad",
};

enum ntk_top_group ntk_top_model_group_of(enum ntk_memory_group group)
{
    switch (group) {
    case NTK_GROUP_HOST_TENSORS:
    case NTK_GROUP_TENSORS:
        return NTK_TOP_GROUP_TENSORS;
    case NTK_GROUP_HOST_CONSTANTS:
    case NTK_GROUP_CONSTANTS:
        return NTK_TOP_GROUP_CONSTANTS;
    case NTK_GROUP_HOST_DMA_BUFFERS:
        return NTK_TOP_GROUP_DMA_BUFFERS;
    case NTK_GROUP_HOST_APPLICATION:
        return NTK_TOP_GROUP_APP_MEMORY;
    case NTK_GROUP_MODEL_CODE:
        return NTK_TOP_GROUP_MODEL_CODE;
    case NTK_GROUP_SCRATCHPAD:
        return NTK_TOP_GROUP_SCRATCHPAD;
    case NTK_GROUP_RUNTIME:
    case NTK_GROUP_COUNT:
        break;
    }
    return NTK_TOP_GROUP_RUNTIME_MEMORY;
}

const char *ntk_top_model_group_name(enum ntk_top_group group)
{
    return group_names[group];
}

void ntk_top_model_tree_init(struct ntk_top_model *model)
{
    ntk_vec_init(&model->items, sizeof(struct item));
}

/* ---- leaves ---- */

static void place(const struct ntk_top_model *model, uint32_t physical_core, struct item *item)
{
    uint32_t logical = physical_core / model->lnc;

    if (physical_core == NTK_NO_CORE || model->cores_per_device == 0) {
        item->device = NO_DEVICE;
        item->core = -1;
        return;
    }
    item->device = (int32_t)(logical / model->cores_per_device);
    item->core = (int32_t)(logical % model->cores_per_device);
}

static const struct ntk_model_sample *find_model(const struct ntk_runtime_sample *runtime,
                                                 uint32_t model_id)
{
    for (size_t i = 0; i < runtime->model_count; i++) {
        if (runtime->models[i].id == model_id) {
            return &runtime->models[i];
        }
    }
    return NULL;
}

/* Returns the name of the file if the runtime has it. */
static const char *model_name(const struct ntk_model_sample *sample)
{
    const char *path;
    const char *slash;

    if (!sample) {
        return "unknown model";
    }
    path = sample->neff_path[0] ? sample->neff_path : sample->name;
    slash = strrchr(path, '/');
    if (slash && slash[1]) {
        return slash + 1;
    }
    return path[0] ? path : "unnamed model";
}

static int add_item(struct ntk_top_model *model, const struct ntk_runtime_sample *runtime,
                    uint32_t physical_core, uint32_t model_id, struct item item)
{
    place(model, physical_core, &item);
    item.model_id = model_id;
    if (model_id != 0) {
        item.owner = runtime->start_time;
        item.owner_pid = runtime->header_pid;
        const struct ntk_model_sample *sample = find_model(runtime, model_id);

        item.name = model_name(sample);
        item.estimated = sample && sample->estimated;
    }
    return ntk_vec_push(&model->items, &item);
}

/* Returns an item for a core or a model, reported or not. */
static struct item whole(const struct ntk_runtime_sample *runtime, uint32_t core, uint32_t model_id)
{
    struct ntk_memory_total host;
    struct ntk_memory_total device;

    ntk_snapshot_memory_total(runtime, core, model_id, &host, &device);
    return (struct item){ .group = -1,
                          .knows_device = device.known,
                          .knows_host = host.known,
                          .lacks_device = !device.known,
                          .lacks_host = !host.known };
}

static int collect_runtime(struct ntk_top_model *model, const struct ntk_runtime_sample *runtime)
{
    int ret = 0;

    if (runtime->ended) {
        return 0;
    }
    for (size_t i = 0; i < runtime->core_count && ret == 0; i++) {
        uint32_t core = runtime->cores[i].core;

        ret = add_item(model, runtime, core, 0, whole(runtime, core, NTK_MEMORY_ANY));
    }
    for (size_t i = 0; i < runtime->model_count && ret == 0; i++) {
        const struct ntk_model_sample *sample = &runtime->models[i];

        for (uint32_t c = 0; c < sample->core_count && sample->loaded && ret == 0; c++) {
            ret = add_item(model, runtime, sample->core + c, sample->id,
                           whole(runtime, NTK_MEMORY_ANY, sample->id));
        }
    }
    for (size_t i = 0; i < runtime->memory_count && ret == 0; i++) {
        const struct ntk_memory_sample *row = &runtime->memory[i];
        enum ntk_memory_group group;
        struct item item = { 0 };

        if (row->category >= NTK_MEMORY_CATEGORY_COUNT || row->current_bytes == 0) {
            continue;
        }
        group = ntk_memory_group_of((enum ntk_memory_category)row->category);
        item.group = (int32_t)ntk_top_model_group_of(group);
        if (row->category == NTK_MEMORY_UNCATEGORIZED &&
            ntk_snapshot_memory_is_estimated(runtime, row->model_id)) {
            item.group = -1; /* the whole model: its purpose is unknown */
            item.is_memory_estimated = true;
        }
        item.knows_device = item.knows_host = ntk_snapshot_tells_memory(runtime);
        if (row->location == NTK_MEMORY_HOST) {
            item.host_bytes = row->current_bytes;
        } else {
            item.device_bytes = row->current_bytes;
        }
        ret = add_item(model, runtime, row->core, row->model_id, item);
    }
    return ret;
}

static int order(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_items(const void *left, const void *right)
{
    const struct item *a = left;
    const struct item *b = right;
    int ret = order(a->device, b->device);

    if (ret == 0) {
        ret = order(a->core, b->core);
    }
    if (ret == 0) {
        /* models first, then memory without a model */
        ret = order(a->model_id == 0, b->model_id == 0);
    }
    if (ret == 0) {
        ret = order(a->model_id, b->model_id);
    }
    if (ret == 0 && a->owner != b->owner) {
        ret = a->owner < b->owner ? -1 : 1;
    }
    if (ret == 0) {
        ret = order(a->owner_pid, b->owner_pid);
    }
    return ret != 0 ? ret : order(a->group, b->group);
}

int ntk_top_model_tree_collect(struct ntk_top_model *model)
{
    const struct ntk_top_tab *tab = ntk_top_model_tab_get(model);
    int ret = 0;

    ntk_vec_clear(&model->items);
    if (!tab || !model->snapshot) {
        return 0;
    }
    if (tab->is_all) {
        for (size_t i = 0; i < model->snapshot->runtime_count && ret == 0; i++) {
            ret = collect_runtime(model, &model->snapshot->runtimes[i]);
        }
    } else {
        ret = collect_runtime(model, &model->snapshot->runtimes[tab->runtime_index]);
    }
    ntk_vec_sort(&model->items, compare_items);
    return ret;
}

/* ---- rows ---- */

static uint64_t mix(uint64_t key, uint64_t value)
{
    key ^= value + UINT64_C(0x9e3779b97f4a7c15) + (key << 6) + (key >> 2);
    key ^= key >> 30;
    key *= UINT64_C(0xbf58476d1ce4e5b9);
    key ^= key >> 27;
    key *= UINT64_C(0x94d049bb133111eb);
    return key ^ key >> 31;
}

/* Returns the key of a leaf down to a depth: 0 .. 4 (device, core, model or group, group); leaves
 * with the same key are in the same rows. */
static uint64_t item_key(const struct item *item, int depth)
{
    uint64_t key = mix(1, (uint64_t)(uint32_t)item->device);

    if (depth >= 1) {
        key = mix(key, (uint64_t)(uint32_t)item->core);
    }
    if (depth >= 2) {
        key = mix(key, item->model_id);
        key = mix(key, item->owner);
        key = mix(key, item->owner_pid);
        if (item->model_id == 0) {
            key = mix(key, 100 + (uint64_t)(uint32_t)item->group);
        }
    }
    if (depth >= 3) {
        key = mix(key, 1000 + (uint64_t)(uint32_t)item->group);
    }
    return key;
}

/* Returns true if a leaf has a row at that depth. */
static bool has_depth(const struct item *item, int depth)
{
    switch (depth) {
    case 0:
    case 1:
        return true;
    case 2:
        return item->model_id != 0 || item->group >= 0;
    default:
        return item->model_id != 0 && item->group >= 0;
    }
}

static bool is_expanded(const struct ntk_top_model *model, uint64_t key)
{
    return model->expanded_by_default != (ntk_map_get_number(&model->exceptions, key) != NULL);
}

void ntk_top_model_tree_set_expanded(struct ntk_top_model *model, uint64_t key, bool expanded)
{
    if (expanded == model->expanded_by_default) {
        ntk_map_remove_number(&model->exceptions, key);
        return;
    }
    if (model->exceptions.count >= EXCEPTIONS_MAX) {
        ntk_map_fini(&model->exceptions);
        memset(&model->exceptions, 0, sizeof model->exceptions);
    }
    (void)ntk_map_put_number(&model->exceptions, key,
                             model); /* out of memory: the item stays unchanged */
}

static void describe(const struct item *item, int depth, struct ntk_top_node *node)
{
    node->device_index = item->device == NO_DEVICE ? -1 : item->device;
    node->core_index = -1;
    if (depth == 0) {
        node->kind = item->device == NO_DEVICE ? NTK_TOP_NODE_HOST : NTK_TOP_NODE_DEVICE;
        if (item->device == NO_DEVICE) {
            ntk_str_copy(node->text, sizeof node->text, "Host");
        } else {
            (void)snprintf(node->text, sizeof node->text, "ND%2d", item->device);
        }
        return;
    }
    node->core_index = item->core;
    if (depth == 1) {
        node->kind = NTK_TOP_NODE_CORE;
        (void)snprintf(node->text, sizeof node->text, "NC %d", item->core);
    } else if (depth == 2 && item->model_id != 0) {
        node->kind = NTK_TOP_NODE_MODEL;
        node->model_id = item->model_id;
        /* A tilde means that the value is estimated; the amount is not computed. */
        ntk_str_copy(node->text, sizeof node->text, item->estimated ? "~" : "");
        ntk_str_copy_clean(node->text + item->estimated, sizeof node->text - item->estimated,
                           item->name, strlen(item->name));
    } else {
        node->kind = NTK_TOP_NODE_GROUP;
        ntk_str_copy(node->text, sizeof node->text, group_names[item->group]);
    }
}

/* Builds the rows of items[0..count), which are equal above depth. */
static int build_rows(struct ntk_top_model *model, const struct item *items, size_t count,
                      int depth)
{
    for (size_t i = 0; i < count;) {
        const struct item *first = &items[i];
        struct ntk_top_node node = { 0 };
        size_t end = i;
        size_t below = 0;
        bool lacks_device = false;
        bool lacks_host = false;
        int next = depth + 1;

        if (!has_depth(first, depth)) {
            i++;
            continue;
        }
        if (depth == 0 && first->device == NO_DEVICE) {
            next = 2; /* no cores below it */
        }
        node.key = item_key(first, depth);
        node.depth = depth == 0 ? 0 : first->device == NO_DEVICE ? depth - 1 : depth;
        for (; end < count && has_depth(&items[end], depth) &&
               item_key(&items[end], depth) == node.key;
             end++) {
            node.device_bytes.value += items[end].device_bytes;
            node.device_bytes.estimated =
                node.device_bytes.estimated || items[end].is_memory_estimated;
            node.host_bytes.value += items[end].host_bytes;
            node.device_bytes.present = node.device_bytes.present || items[end].knows_device;
            node.host_bytes.present = node.host_bytes.present || items[end].knows_host;
            lacks_device = lacks_device || items[end].lacks_device;
            lacks_host = lacks_host || items[end].lacks_host;
            below += next < NTK_TOP_DEPTH_MAX && has_depth(&items[end], next);
        }
        node.device_bytes.present =
            node.device_bytes.value > 0 || (node.device_bytes.present && !lacks_device);
        node.host_bytes.present =
            node.host_bytes.value > 0 || (node.host_bytes.present && !lacks_host);
        describe(first, depth, &node);
        node.can_expand = below > 0 && node.kind != NTK_TOP_NODE_GROUP;
        node.is_expanded = node.can_expand && is_expanded(model, node.key);
        if (ntk_vec_push(&model->nodes, &node) < 0) {
            return -ENOMEM;
        }
        if (node.is_expanded && build_rows(model, first, end - i, next) < 0) {
            return -ENOMEM;
        }
        i = end;
    }
    return 0;
}

/* Finds the user's last position, else its nearest parent. */
static size_t find_cursor(const struct ntk_top_model *model)
{
    for (int k = 0; k < NTK_TOP_DEPTH_MAX; k++) {
        for (size_t i = 0; i < model->nodes.count && model->cursor_keys[k] != 0; i++) {
            const struct ntk_top_node *node = ntk_vec_at(&model->nodes, i);

            if (node->key == model->cursor_keys[k]) {
                return i;
            }
        }
    }
    return 0;
}

int ntk_top_model_tree_build(struct ntk_top_model *model)
{
    const struct item *items = model->items.items;
    int ret;

    /* The first screen has one expanded core, to show that there are rows below. */
    if (!model->has_opened_first && model->items.count > 0) {
        model->has_opened_first = true;
        if (!model->expanded_by_default) {
            ntk_top_model_tree_set_expanded(model, item_key(&items[0], 0), true);
            ntk_top_model_tree_set_expanded(model, item_key(&items[0], 1), true);
        }
    }
    ntk_vec_clear(&model->nodes);
    ret = build_rows(model, items, model->items.count, 0);
    model->cursor_index = find_cursor(model);
    return ret;
}

size_t ntk_top_model_tree_parent(const struct ntk_top_model *model, size_t index)
{
    const struct ntk_top_node *node = ntk_vec_at(&model->nodes, index);

    while (index-- > 0) {
        const struct ntk_top_node *above = ntk_vec_at(&model->nodes, index);

        if (above->depth < node->depth) {
            return index;
        }
    }
    return SIZE_MAX;
}

void ntk_top_model_tree_set_cursor(struct ntk_top_model *model, size_t index)
{
    memset(model->cursor_keys, 0, sizeof model->cursor_keys);
    if (model->nodes.count == 0) {
        model->cursor_index = 0;
        return;
    }
    model->cursor_index = index < model->nodes.count ? index : model->nodes.count - 1;
    index = model->cursor_index;
    for (int k = 0; k < NTK_TOP_DEPTH_MAX && index != SIZE_MAX; k++) {
        const struct ntk_top_node *node = ntk_vec_at(&model->nodes, index);

        model->cursor_keys[k] = node->key;
        index = ntk_top_model_tree_parent(model, index);
    }
}
