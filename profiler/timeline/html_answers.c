/* SPDX-License-Identifier: MIT */
/* html_answers - what the page asks a server, answered beforehand. */
#include "profiler/timeline/html_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/answers/output_matched.h"
#include "profiler/output/output.h"
#include "profiler/timeline/timeline_answer.h"
#include "profiler/timeline/timeline_insight.h"

void ntk_html_put_member(struct ntk_buf *out, const char *separator, const char *key)
{
    ntk_buf_add_text(out, separator);
    ntk_json_add_quoted(out, key);
    ntk_buf_add_char(out, ':');
}

static int put_analyses(const struct ntk_analyses *analyses, struct ntk_buf *out)
{
    const char *separator = "";

    ntk_buf_add_char(out, '{');
    for (size_t i = 0; i < ntk_analyses_count(); i++) {
        const struct ntk_analysis_info *info = ntk_analyses_info(i);
        struct ntk_buf value = { 0 };
        struct ntk_json json;
        ntk_json_init(&json, &value, false);
        int ret = ntk_analyses_put_brief(analyses, i, &json);
        ntk_html_put_member(out, separator, info->name);
        if (ret == -ENODATA) {
            ntk_buf_add_text(out, "{\"absent\":");
            ntk_json_add_quoted(out, info->absent);
        } else {
            ntk_buf_add_text(out, "{\"value\":");
            ntk_buf_add(out, ntk_buf_text_get(&value), value.bytes_count);
        }
        ntk_buf_add_char(out, '}');
        out->failed |= !ntk_buf_ok(&value);
        ntk_buf_fini(&value);
        if (ret < 0 && ret != -ENODATA) {
            return ret;
        }
        separator = ",";
    }
    ntk_buf_add_char(out, '}');
    return 0;
}

static int put_summary(const struct ntk_timeline_source *source, struct ntk_buf *out)
{
    struct ntk_summary summary = { 0 };
    int ret = ntk_analysis_summary(source->trace, &summary);

    if (ret == 0) {
        ntk_output_summary_json(&summary, source->name, out);
        ntk_summary_fini(&summary);
    }
    return ret;
}

int ntk_html_put_answers(struct ntk_html_writer *w, const char *title, struct ntk_buf *out)
{
    const struct ntk_timeline *timeline = w->timeline;
    int64_t span_ps = timeline->end_ps - timeline->begin_ps;
    static const char *const keys[] = { "summaries", "analyses", "paths", "flames" };
    int ret = 0;

    ntk_html_put_member(out, "{", "meta");
    ntk_timeline_put_meta(timeline, title, timeline->compares, out);
    if (timeline->compares) {
        struct ntk_json json;
        ntk_html_put_member(out, ",", "compare");
        ntk_json_init(&json, out, false);
        ret = ntk_output_compare_json(w->analyses[0], w->analyses[1], &json);
    }
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        ntk_html_put_member(out, ",", keys[k]);
        ntk_buf_add_char(out, '[');
        for (size_t s = 0; s < timeline->source_count && ret == 0; s++) {
            ntk_buf_add_text(out, s ? "," : "");
            switch (k) {
            case 0:
                ret = put_summary(&timeline->sources[s], out);
                break;
            case 1:
                ret = put_analyses(w->analyses[s], out);
                break;
            case 2:
                ntk_timeline_put_path(timeline, s, w->analyses[s], 0, span_ps, out);
                break;
            default:
                ntk_timeline_put_flame(timeline, s, w->analyses[s], 0, span_ps, out);
                break;
            }
            ntk_html_give_back(w);
        }
        ntk_buf_add_char(out, ']');
    }
    ntk_buf_add_char(out, '}');
    return ret;
}

static int put_flows(const struct ntk_html_writer *w, size_t track, size_t slice,
                     struct ntk_buf *out, struct ntk_err *err)
{
    size_t source = ntk_timeline_source_of(w->timeline, ntk_timeline_track_get(w->timeline, track));
    bool is_host = source == NTK_TIMELINE_NO_SOURCE;

    return ntk_timeline_put_flows(w->timeline, is_host ? NULL : w->analyses[source],
                                  is_host ? NULL : w->operands[source], track, slice, out, err);
}

/* {"slices": [[...]], "flows": [[...]]}: by track, then by slice; null where nothing is known. */
void ntk_html_put_details(struct ntk_html_writer *w, struct ntk_buf *out)
{
    const struct ntk_timeline *timeline = w->timeline;

    static const char *const keys[] = { "slices", "flows" };

    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        ntk_html_put_member(out, k ? "," : "{", keys[k]);
        for (size_t t = 0; t < timeline->tracks.count; t++) {
            const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, t);
            ntk_buf_add_text(out, t ? ",[" : "[[");
            for (size_t i = 0; i < track->slice_count; i++) {
                struct ntk_err err = { 0 };
                size_t before;
                ntk_buf_add_text(out, i ? "," : "");
                before = out->bytes_count;
                int ret = k == 0 ? ntk_timeline_put_slice(timeline, t, i, out, &err)
                                 : put_flows(w, t, i, out, &err);
                if (ret < 0) {
                    out->bytes_count = before;
                    ntk_buf_add_text(out, "null");
                }
            }
            ntk_buf_add_char(out, ']');
        }
        ntk_buf_add_text(out, timeline->tracks.count ? "]" : "[]");
    }
    ntk_buf_add_char(out, '}');
}
