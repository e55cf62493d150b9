/* SPDX-License-Identifier: MIT */
/*
 * output_folded - busy device time as folded stacks, docs/formats/flame-graphs.md: a line for each
 * stack, frames from the outermost, then a blank and nanoseconds.
 */
#include <errno.h>

#include "profiler/analysis/flame_stacks.h"
#include "profiler/output/export_to.h"

/* Readers split at semicolons, and the value at the last blank. */
static void put_name(struct ntk_buf *out, const char *name)
{
    for (; *name; name++) {
        ntk_buf_add_char(out, *name == ';' ? ':' : *name);
    }
}

static void put_frames(const struct ntk_flame *flame, const struct ntk_flame_frame *frame,
                       struct ntk_buf *out)
{
    if (frame->parent) {
        put_frames(flame, ntk_vec_at(&flame->frames, frame->parent - 1), out);
        ntk_buf_add_char(out, ';');
    }
    put_name(out, frame->name);
}

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
            put_frames(&flame, ntk_vec_at(&flame.frames, stack->frame), &sink.buf);
            ntk_buf_add_char(&sink.buf, ' ');
            ntk_buf_add_i64(&sink.buf, stack->busy_ns);
            ntk_buf_add_char(&sink.buf, '\n');
            ret = ntk_sink_step(&sink);
        }
    }
    ntk_flame_fini(&flame);
    return ntk_export_finish(&sink, ret, err);
}
