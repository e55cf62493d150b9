/* SPDX-License-Identifier: MIT */
/*
 * scene_source - neuron-top's main.c and curses with hand-made snapshots, for test_terminal.sh and
 * the bench. NTK_TEST_SCENE: trn1, trn2 (128 cores), small, none, wide, many (300 applications),
 * moving (128 cores that change every second), looked (like trn1, and checked for changes).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "tests/top/scene.h"
#include "tests/top/tty_writes.h"
#include "top/source/source.h"

#define SECONDS UINT64_C(1763700000) /* before the first moment of the scenes that change */

struct scene_source {
    struct ntk_top_source base;
    struct scene scene;
    uint32_t step;
    bool is_moving;
};

static int scene_take(struct ntk_top_source *base, struct ntk_snapshot **out_snapshot,
                      struct ntk_err *err)
{
    struct scene_source *source = (struct scene_source *)base;

    (void)err;
    source->step++;
    if (source->is_moving) {
        source->scene.phase = source->step;
        source->scene.realtime_ns = (SECONDS + source->step) * UINT64_C(1000000000);
    }
    *out_snapshot = (struct ntk_snapshot *)scene_snapshot(&source->scene);
    source->scene.events = false; /* they happen once */
    return 1;
}

static void scene_close(struct ntk_top_source *base)
{
    free(base);
}

static bool scene_has_news(struct ntk_top_source *base)
{
    (void)base;
    tty_count(TTY_COUNT_LOOKS);
    return false;
}

static const struct ntk_top_source_ops scene_ops = { .take = scene_take, .close = scene_close };
static const struct ntk_top_source_ops looked_ops = { .take = scene_take,
                                                      .close = scene_close,
                                                      .has_news = scene_has_news };

int ntk_top_source_live_open(const char *sysfs_root, struct ntk_top_source **out_source,
                             struct ntk_err *err)
{
    static const char *const wide[] = { "深層学習", "plain" };
    struct scene_source *source = calloc(1, sizeof *source);
    const char *name = getenv("NTK_TEST_SCENE");

    (void)sysfs_root;
    if (!source) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    source->base.ops = &scene_ops;
    source->base.fd = -1;
    name = name ? name : "trn1";
    if (strcmp(name, "looked") == 0) {
        source->base.ops = &looked_ops;
    }
    if (strcmp(name, "trn2") == 0 || strcmp(name, "moving") == 0) {
        source->scene = scene_trn2_lnc1;
        source->is_moving = name[0] == 'm';
    } else if (strcmp(name, "small") == 0) {
        source->scene = scene_small;
    } else if (strcmp(name, "none") == 0) {
        source->scene = scene_no_device;
    } else if (strcmp(name, "wide") == 0) {
        source->scene = scene_small;
        source->scene.runtime_count = 2;
        source->scene.cores_per_runtime = 1;
        source->scene.tags = wide;
    } else if (strcmp(name, "many") == 0) {
        source->scene = scene_trn2_lnc1;
        source->scene.runtime_count = 300;
        source->scene.cores_per_runtime = 0;
    } else {
        source->scene = scene_trn1;
    }
    *out_source = &source->base;
    return 0;
}
