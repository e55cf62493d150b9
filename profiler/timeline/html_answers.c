/* SPDX-License-Identifier: MIT */
/* html_answers - writes answers about captures and hosts that the page would request from a
 * server. */
#include "profiler/timeline/html_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/answers/output_matched.h"
#include "profiler/output/answers/system_analyses.h"
#include "profiler/output/output.h"
#include "profiler/timeline/timeline_answer.h"
#include "profiler/timeline/timeline_flame.h"
#include "profiler/timeline/timeline_insight.h"

void ntk_html_put_member(struct ntk_buf *out, const char *separator, const char *key)
{
    ntk_buf_add_text(out, separator);
    ntk_json_add_quoted(out, key);
    ntk_buf_add_char(out, ':');
}

/* Writes {"value": ...}, or if ret is -ENODATA, {"absent": "reason"}. Frees the value. */
static void put_value(struct ntk_buf *out, int ret, const char *absent, struct ntk_buf *value)
{
    if (ret == -ENODATA) {
        ntk_html_put_member(out, "{", "absent");
        ntk_json_add_quoted(out, absent);
    } else {
        ntk_html_put_member(out, "{", "value");
        ntk_buf_add(out, ntk_buf_text_get(value), value->bytes_count);
    }
    ntk_buf_add_char(out, '}');
    out->failed |= !ntk_buf_ok(value);
    ntk_buf_fini(value);
}

#define TOO_COSTLY \
    "a file contains this only for captures of at most 400,000 slices: use neuron-profile analyze"

static int put_analyses(const struct ntk_analyses *analyses, bool is_long, struct ntk_buf *out)
{
    const char *separator = "";

    ntk_buf_add_char(out, '{');
    for (size_t i = 0; i < ntk_analyses_count(); i++) {
        char absent[NTK_ANALYSES_ABSENT_BYTES];
        struct ntk_buf value = { 0 };
        struct ntk_json json;
        bool is_omitted = is_long && ntk_analyses_info(i)->is_costly;
        ntk_json_init(&json, &value, false);
        int ret = is_omitted ? -ENODATA : ntk_analyses_put_brief(analyses, i, &json);
        ntk_html_put_member(out, separator, ntk_analyses_info(i)->name);
        put_value(out, ret,
                  is_omitted        ? TOO_COSTLY
                  : ret == -ENODATA ? ntk_analyses_absent(analyses, i, absent, sizeof absent)
                                    : NULL,
                  &value);
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
    static const char *const keys[] = { "summaries", "analyses", "paths", "flames",
                                        "flame_stacks" };
    int ret = 0;

    ntk_html_put_member(out, "{", "meta");
    ntk_timeline_put_meta(timeline, title, out);
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
                ret = put_analyses(w->analyses[s],
                                   timeline->slice_count > NTK_TIMELINE_HTML_SLICES_MAX, out);
                break;
            case 2:
                ntk_timeline_put_path(timeline, s, w->analyses[s], 0, span_ps, out);
                break;
            case 3:
                ntk_timeline_put_flame(timeline, s, w->analyses[s], 0, span_ps, out);
                break;
            default:
                ntk_timeline_put_flame_stacks(timeline, s, out);
                break;
            }
            ntk_html_give_back(w);
        }
        ntk_buf_add_char(out, ']');
        ntk_html_passed(w, NTK_HTML_SHARE_ANSWERS * (double)(k + 1) /
                               (double)(sizeof keys / sizeof *keys));
    }
    ntk_buf_add_char(out, '}');
    return ret;
}

/* ---- host activity --------------------------------------------------------------------------- */

static int put_host_answer(const struct ntk_system_asked *asked, const char *joined_json,
                           size_t index, struct ntk_buf *out)
{
    struct ntk_buf value = { 0 };
    struct ntk_json json;
    int ret = 0;

    if (joined_json && ntk_system_analyses_streams(index)) {
        ntk_buf_add_format(out, "{\"value\":%s}", joined_json);
        return 0;
    }
    ntk_json_init(&json, &value, false);
    ret = ntk_system_analyses_put(asked, index, NULL, &json);
    put_value(out, ret, ntk_system_analyses_info(index)->absent, &value);
    return ret == -ENODATA ? 0 : ret;
}

/* Writes the answers with the names that the tab Host requests; nothing without a host. */
int ntk_html_put_host(struct ntk_html_writer *w, const struct ntk_timeline_html_options *options)
{
    static const char *const names[] = { "host-gaps", "host-threads", "memory", "ranks", "joined" };
    const struct ntk_system_asked asked = { .traces = options->traces,
                                            .trace_count = options->trace_count };
    struct ntk_buf data = { 0 };
    struct ntk_buf text = { 0 };
    const char *separator = "{";
    bool is_put = false;
    int ret = 0;

    if (w->timeline->zero_ns == 0) {
        return 0;
    }
    for (size_t i = 0; i < ntk_system_analyses_count() && ret == 0; i++) {
        for (size_t n = 0; n < sizeof names / sizeof *names && ret == 0; n++) {
            if (strcmp(ntk_system_analyses_info(i)->name, names[n]) == 0) {
                ntk_html_put_member(&data, separator, names[n]);
                separator = ",";
                ret = put_host_answer(&asked, options->joined_json, i, &data);
            }
        }
    }
    ntk_buf_add_char(&data, '}');
    ret = ret == 0 ? ntk_html_add_data("id=\"data-host\"", &data, &text) : ret;
    ret = ret == 0 ? ntk_html_put_if_room(w, &text, &is_put) : ret;
    w->extent.lacks_host = !is_put;
    ntk_buf_fini(&data);
    ntk_buf_fini(&text);
    return ret;
}
