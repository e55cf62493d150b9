/* SPDX-License-Identifier: MIT */
/*
 * output_folded - writes busy device time as folded stacks (docs/formats/flame-graphs.md): a line
 * per stack, frames from the outermost, then a blank and nanoseconds.
 */
#include <errno.h>

#include "profiler/analysis/flame_stacks.h"
#include "profiler/output/export_to.h"
#include "profiler/output/traces/flame_writers.h"

int ntk_export_to_folded(const struct ntk_export *export, const char *path, struct ntk_err *err)
{
    struct ntk_flame flame = { 0 };
    struct ntk_sink sink = { 0 };
    int ret = ntk_sink_open(&sink, path, err);

    if (ret < 0) {
        return ret;
    }
    ret = ntk_analysis_flame(export->program, &export->regions, &flame);
    ntk_vec_each(const struct ntk_flame_stack, stack, &flame.stacks) {
        if (ret == 0 && stack->busy_ns > 0) {
            ntk_folded_put(&flame.frames, stack->frame, stack->busy_ns, &sink.buf);
            ret = ntk_sink_step(&sink);
        }
    }
    ntk_flame_fini(&flame);
    return ntk_export_finish(&sink, ret, err);
}
