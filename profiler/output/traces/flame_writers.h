/* SPDX-License-Identifier: MIT */
/*
 * flame_writers - writes stacks with values as folded lines and as a pprof profile
 * (docs/formats/flame-graphs.md).
 *
 * Frames are struct ntk_flame_frame, parents before children; a stack is the index of its innermost
 * frame.
 */
#ifndef NTK_PROFILER_OUTPUT_TRACES_FLAME_WRITERS_H
#define NTK_PROFILER_OUTPUT_TRACES_FLAME_WRITERS_H

#include <stddef.h>
#include <stdint.h>

#include "profiler/analysis/flame_stacks.h"
#include "profiler/output/sink.h"
#include "shared/base/vec.h"

/* Writes one line: frames from the outermost, then a blank and the value. */
void ntk_folded_put(const struct ntk_vec *frames, uint32_t frame, int64_t value,
                    struct ntk_buf *out);

#define NTK_PPROF_VALUES 3
#define NTK_PPROF_LABELS 2

struct ntk_pprof_sample {
    uint32_t frame;
    int64_t values[NTK_PPROF_VALUES];
    struct {
        const char *key;
        const char *text; /* NULL if the value is the number */
        int64_t number;
    } labels[NTK_PPROF_LABELS];
};

struct ntk_pprof {
    const struct ntk_vec *frames;
    const struct ntk_vec *samples; /* elements are struct ntk_pprof_sample */
    struct {
        const char *type, *unit;
    } values[NTK_PPROF_VALUES];
    size_t value_count, label_count; /* lengths of the arrays above */
    const char *file;                /* file with the code of the stacks */
    const char *build_id;            /* "" if unknown */
    int64_t time_ns;                 /* since 1970; 0 if unknown */
    int64_t duration_ns;
};
/* Writes gzip, as readers expect. Returns 0 or -errno. */
int ntk_pprof_put(const struct ntk_pprof *from, struct ntk_sink *sink);

#endif
