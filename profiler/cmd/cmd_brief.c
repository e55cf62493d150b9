/* SPDX-License-Identifier: MIT */
/* cmd_brief - a capture on one screen, for a terminal. */
#include "profiler/cmd/cmd.h"
#include "profiler/output/answers/analyses.h"
#include "profiler/output/answers/output_analysis.h"
#include "profiler/trace/long_list.h"

int ntk_profile_brief(const struct ntk_profile *profile, const char *name, const char *output)
{
    struct ntk_summary summary = { 0 };
    struct ntk_analyses *analyses = NULL;
    struct ntk_advice advice = { 0 };
    struct ntk_buf text = { 0 };
    struct ntk_err err = { 0 };
    int ret = ntk_analyses_create_shown(profile->trace, NTK_USES_ALL, &analyses);

    ret = ret < 0 ? ret : ntk_analysis_summary_of(analyses->program, &summary);
    ret = ret < 0 || !analyses->has_path ? ret : ntk_analyses_advice(analyses, &advice);
    if (ret < 0) {
        ntk_long_list_err_set(&err, ret, profile->trace->folder);
    } else {
        ntk_output_brief(name, profile->ntff_path, analyses->program->execution_count, &summary,
                         analyses->has_path ? &advice : NULL, &text);
    }
    int code = ret < 0 ? ntk_profile_fail(&err) : ntk_profile_put(&text, output);
    ntk_buf_fini(&text);
    ntk_advice_fini(&advice);
    ntk_analyses_destroy(analyses);
    ntk_summary_fini(&summary);
    return code;
}
