/* SPDX-License-Identifier: MIT */
/*
 * scene - hand-made snapshots, always with the same numbers for a scene, and the comparison of a
 * drawn model with golden/<name>.txt. NTK_GOLDEN_UPDATE=1 writes the files instead: review them.
 */
#ifndef NTK_TESTS_TOP_SCENE_H
#define NTK_TESTS_TOP_SCENE_H

#include "shared/metrics/snapshot.h"
#include "top/model/model.h"
#include "top/screen/screen.h"

struct scene {
    const char *instance_type;
    const char *core_version;
    uint32_t device_count;
    uint32_t cores_per_device; /* physical */
    uint32_t lnc;
    uint32_t runtime_count;
    uint32_t cores_per_runtime; /* physical; runtime r owns this many, starting at r * this */
    uint32_t first_pid;         /* 0: 7286 */
    uint64_t started_later;     /* later than usual by this number of clock ticks */
    const char *const *tags;    /* runtime_count of them; NULL: the pid */
    const char *hardware_error;
    const char *runtime_instance_type; /* reported by the applications; NULL: nothing */
    bool idle;                         /* cores at 0 */
    bool no_flops;                     /* hardware, which does not report FLOPs */
    bool driver;                       /* a driver's tree, not that of the software machine */
    bool no_busy;                      /* the cores are not measured */
    bool no_cpu;                       /* neither machine nor runtimes */
    bool no_memory;                    /* runtimes do not report it */
    bool spread;                       /* executions of a model take 1 to 4 ms */
    bool no_in_flight;                 /* a report without our keys */
    bool only_opaque;                  /* runtimes report nothing: no permission */
    uint32_t ended;                    /* this many of the first runtimes ended */
    uint32_t phase;                    /* selects other numbers on the cores */
    const char *model_name;            /* NULL: "mlp.neff" */
    bool events;                       /* one of each kind, of the first runtime */
    uint32_t lost;                     /* records overwritten before they were read */
    uint32_t ecc;                      /* bits corrected in the period */
    bool no_ecc_total;                 /* as in a recording */
    uint64_t realtime_ns;
    /* executions, time-outs and operations of each first core before it was watched */
    uint64_t unwatched;
};

/* Owned by the caller; never NULL. */
const struct ntk_snapshot *scene_snapshot(const struct scene *scene);
/* A model with the scene in it. */
struct ntk_top_model *scene_model(const struct scene *scene);
void scene_update(struct ntk_top_model *model, const struct scene *scene);
void scene_assert_screen(struct ntk_top_model *model, int rows, int columns, bool with_keys,
                         const char *golden_name);
/* The same for a terminal with only ASCII. */
void scene_assert_ascii(struct ntk_top_model *model, int rows, int columns,
                        const char *golden_name);
/* The letters of the styles. */
void scene_assert_styles(struct ntk_top_model *model, int rows, int columns,
                         const char *golden_name);
/* The text of one row; the caller frees it. */
char *scene_row(struct ntk_top_model *model, int rows, int columns, int row);

extern const struct scene scene_trn1; /* 16 devices, 2 applications */
extern const struct scene scene_trn2_lnc2;
extern const struct scene scene_trn2_lnc1; /* 128 cores */
extern const struct scene scene_small;     /* one device */
/* ..., two tags and a model with wide and hostile characters. */
extern const struct scene scene_wide;
extern const struct scene scene_no_device;

#endif
