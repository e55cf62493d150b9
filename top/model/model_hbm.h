/* SPDX-License-Identifier: MIT */
/* model_hbm - lists a row per device, or per logical core: the use of its memory. */
#ifndef NTK_TOP_MODEL_MODEL_HBM_H
#define NTK_TOP_MODEL_MODEL_HBM_H

#include "shared/abi/event_abi.h"
#include "top/model/model.h"

/* Number of categories of device memory, which are the first in memory.def. */
#define NTK_TOP_HBM_CATEGORY_COUNT (NTK_MEMORY_DRIVER + 1)

enum ntk_top_hbm_column {
    NTK_TOP_HBM_DEVICE,
    NTK_TOP_HBM_SHARE,
    NTK_TOP_HBM_USED,
    NTK_TOP_HBM_CAPACITY,
    NTK_TOP_HBM_FREE,
    NTK_TOP_HBM_PEAK,
    NTK_TOP_HBM_STACK, /* first of NTK_SNAPSHOT_STACKS_MAX */
    /* first of the categories */
    NTK_TOP_HBM_CATEGORY = NTK_TOP_HBM_STACK + NTK_SNAPSHOT_STACKS_MAX,
    NTK_TOP_HBM_OTHER = NTK_TOP_HBM_CATEGORY + NTK_TOP_HBM_CATEGORY_COUNT,
    NTK_TOP_HBM_COUNT,
};
/* Column of a category; memory without a category is last. */
#define NTK_TOP_HBM_CATEGORY_COLUMN(category) \
    (NTK_TOP_HBM_CATEGORY +                   \
     ((int)(category) + NTK_TOP_HBM_CATEGORY_COUNT - 1) % NTK_TOP_HBM_CATEGORY_COUNT)

/* The used part of a device's memory, by any application or by that of the tab, and its size. */
struct ntk_top_hbm_use {
    struct ntk_top_bytes used;
    struct ntk_top_bytes capacity;
};
struct ntk_top_hbm_use ntk_top_model_hbm_device(const struct ntk_top_model *model, uint32_t device);
/* Returns all devices at once, at the cost of one. */
void ntk_top_model_hbm_devices(const struct ntk_top_model *model,
                               struct ntk_top_hbm_use out[NTK_SNAPSHOT_DEVICES_MAX]);
/* Returns the used share of the size. */
struct ntk_top_number ntk_top_model_hbm_share(struct ntk_top_bytes used,
                                              struct ntk_top_bytes capacity);

/* Keeps the peak of each device so far. Always returns 0. */
int ntk_top_model_hbm_observe(struct ntk_top_model *model);
/* Returns 0 or -ENOMEM. */
int ntk_top_model_hbm(struct ntk_top_model *model, struct ntk_top_table *table);

/* Sum over all devices; for the tab of an application, over those on which it uses memory. */
struct ntk_top_hbm_sum {
    uint32_t device_count;
    struct ntk_top_bytes used;
    struct ntk_top_bytes capacity;
    bool has_categories;
    uint64_t category[NTK_TOP_HBM_CATEGORY_COUNT];
    uint64_t other; /* used by applications that report no categories */
};
void ntk_top_model_hbm_sum(const struct ntk_top_model *model, struct ntk_top_hbm_sum *out);

#endif
