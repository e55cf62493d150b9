/* SPDX-License-Identifier: MIT */
/*
 * output_pprof - writes device time as a pprof profile (docs/formats/flame-graphs.md): a sample per
 * stack, with its busy time, number of instructions and waits.
 */
#include <errno.h>

#include "profiler/analysis/flame_stacks.h"
#include "profiler/output/export_to.h"
#include "profiler/output/traces/flame_writers.h"

/* Returns the time since 1970; the file has whole seconds. 0 if unknown. */
static int64_t time_ns_of(const struct ntk_ntff *ntff)
{
    int64_t ns;

    return ntff->unix_time > INT64_MAX ||
                   __builtin_mul_overflow((int64_t)ntff->unix_time, INT64_C(1000000000), &ns)
               ? 0
               : ns;
}

static int samples_of(const struct ntk_flame *flame, struct ntk_vec *samples)
{
    ntk_vec_each(const struct ntk_flame_stack, stack, &flame->stacks) {
        struct ntk_pprof_sample sample = {
            .frame = stack->frame,
            .values = { stack->busy_ns, (int64_t)stack->instruction_count, stack->wait_ns },
            .labels = { { "engine", ntk_ntff_engine_name(stack->engine), 0 },
                        { "core", NULL, stack->core } },
        };
        if (ntk_vec_push(samples, &sample) < 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

int ntk_export_to_pprof(const struct ntk_export *export, const char *path, struct ntk_err *err)
{
    const struct ntk_ntff *ntff = export->trace->ntff;
    struct ntk_flame flame = { 0 };
    struct ntk_sink sink = { 0 };
    struct ntk_vec samples = NTK_VEC_INIT(struct ntk_pprof_sample);
    char uuid[NTK_NTFF_UUID_TEXT_BYTES];
    struct ntk_pprof pprof = {
        .frames = &flame.frames,
        .samples = &samples,
        .values = { { "busy", "nanoseconds" },
                    { "instructions", "count" },
                    { "wait", "nanoseconds" } },
        .value_count = 3,
        .label_count = 2,
        .file = ntff->neff_name[0] ? ntff->neff_name : export->profile_name,
        .build_id = ntff->neff_uuid_known_bytes ? uuid : "",
        .time_ns = time_ns_of(ntff),
        .duration_ns = export->trace->has_total ? export->trace->total_ps / NTK_TRACE_PS_PER_NS : 0,
    };
    int ret = ntk_sink_open(&sink, path, err);

    if (ret < 0) {
        return ret;
    }
    ntk_ntff_uuid_text(ntff, uuid);
    ret = ntk_analysis_flame(export->program, &export->regions, &flame);
    ret = ret < 0 ? ret : samples_of(&flame, &samples);
    ret = ret < 0 ? ret : ntk_pprof_put(&pprof, &sink);
    ntk_vec_fini(&samples);
    ntk_flame_fini(&flame);
    return ntk_export_finish(&sink, ret, err);
}
