/* SPDX-License-Identifier: MIT */
/* median - sorts the numbers as the times of a sorter. */
#include "profiler/analysis/median.h"

#include "shared/base/fs.h"

#define HEAP_BYTES ((size_t)1 << 20)
#define SIGN (UINT64_C(1) << 63) /* offset that converts unsigned order to signed order */

struct item {
    int64_t number;
    uint64_t unused; /* items of a sorter have 16 bytes */
};

static int compare(const void *a, const void *b)
{
    (void)a;
    (void)b;
    return 0;
}

void ntk_median_init(struct ntk_median *median)
{
    ntk_sorter_init(&median->sorter, sizeof(struct item), compare, HEAP_BYTES,
                    ntk_fs_temporary_folder());
}

void ntk_median_fini(struct ntk_median *median)
{
    ntk_sorter_fini(&median->sorter);
}

int ntk_median_add(struct ntk_median *median, uint64_t number)
{
    struct item *item = ntk_sorter_add(&median->sorter);

    if (!item) {
        return median->sorter.failed;
    }
    *item = (struct item){ .number = (int64_t)(number ^ SIGN) };
    return 0;
}

int ntk_median_get(struct ntk_median *median, uint64_t *out_number)
{
    struct ntk_sorted sorted = { 0 };
    int ret = ntk_sorter_finish(&median->sorter, HEAP_BYTES, &sorted, NULL);

    if (ret == 0) {
        const struct item *items = sorted.items;

        *out_number = sorted.count ? (uint64_t)items[(sorted.count - 1) / 2].number ^ SIGN : 0;
        ntk_sorted_fini(&sorted, sizeof(struct item));
    }
    return ret;
}
