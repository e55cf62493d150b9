/* SPDX-License-Identifier: MIT */
#include "profiler/timeline/timeline_ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/summary.h"
#include "profiler/output/answers/output_matched.h"
#include "profiler/output/answers/system_analyses.h"
#include "profiler/output/output.h"
#include "profiler/timeline/timeline_answer.h"
#include "profiler/timeline/timeline_asked.h"
#include "profiler/timeline/timeline_flame.h"
#include "profiler/timeline/timeline_insight.h"
#include "profiler/timeline/timeline_source.h"
#include "profiler/timeline/timeline_tensors.h"
#include "profiler/timeline/timeline_tile.h"
#include "profiler/trace/long_list.h"
#include "shared/base/str.h"

struct ntk_timeline_ask {
    const struct ntk_timeline *timeline;
    char *title;
    const struct ntk_system_trace *const *traces;
    size_t trace_count;
    const char *joined_json;
    /* By source, created at the first request: slow requests run one after the other. */
    struct ntk_analyses **analyses;
    struct ntk_operands **operands;
    struct ntk_source_lines **lines;
    struct ntk_source_text *source_text;
    struct ntk_timeline_tensors **tensors; /* created at the first request; borrows the analyses */
};

/* ---- parameters ------------------------------------------------------------------------------ */

static uint64_t span_of(const struct ntk_timeline *timeline)
{
    return (uint64_t)(timeline->end_ps - timeline->begin_ps);
}

struct range {
    int64_t from_ps, to_ps;
};

/* Clips a time: later times count as the end, because a browser rounds numbers of more than 53
 * bits. */
static int64_t clipped(const struct ntk_timeline_ask *ask, uint64_t time_ps)
{
    uint64_t end_ps = span_of(ask->timeline) + 1; /* includes instants at the very end */

    return (int64_t)(time_ps < end_ps ? time_ps : end_ps);
}

static int get_range(const struct ntk_timeline_ask *ask, const struct ntk_timeline_query *query,
                     struct range *out_range, struct ntk_err *err)
{
    uint64_t from = 0;
    uint64_t to = 0;
    int ret = ntk_asked_u64(query, "from", UINT64_MAX, &from, err);

    if (ret == 0) {
        ret = ntk_asked_u64(query, "to", UINT64_MAX, &to, err);
    }
    if (ret == 0 && from > to) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "'from' is after 'to'");
    }
    *out_range = (struct range){ clipped(ask, from), clipped(ask, to) };
    return ret;
}

static int get_source(const struct ntk_timeline_ask *ask, const struct ntk_timeline_query *query,
                      uint64_t *out_source, struct ntk_err *err)
{
    if (ask->timeline->source_count == 0) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "the page shows no capture");
    }
    return ntk_asked_u64(query, "source", ask->timeline->source_count - 1, out_source, err);
}

static int get_slice(const struct ntk_timeline_query *query, uint64_t *out_track,
                     uint64_t *out_slice, struct ntk_err *err)
{
    int ret = ntk_asked_u64(query, "track", UINT32_MAX, out_track, err);

    return ret == 0 ? ntk_asked_u64(query, "slice", UINT32_MAX, out_slice, err) : ret;
}

/* ---- answers: each fills the body, or the message and a code -------------------------------- */

typedef int answer(const struct ntk_timeline_ask *ask, const struct ntk_timeline_query *query,
                   struct ntk_buf *out, struct ntk_err *err);

static int answer_meta(const struct ntk_timeline_ask *ask, const struct ntk_timeline_query *query,
                       struct ntk_buf *out, struct ntk_err *err)
{
    (void)query;
    (void)err;
    ntk_timeline_put_meta(ask->timeline, ask->title, out);
    return 0;
}

/* If tensors is NULL, writes the kinds of slices. */
static int put_tiles(const struct ntk_timeline_ask *ask, const struct ntk_timeline_tensors *tensors,
                     const struct ntk_timeline_query *query, struct ntk_buf *out,
                     struct ntk_err *err)
{
    uint64_t level = 0;
    uint64_t tile = 0;
    uint32_t *tracks = NULL;
    size_t count = 0;
    int ret = ntk_asked_u64(query, "level", 63, &level, err);

    if (ret == 0) {
        ret = ntk_asked_u64(query, "tile", UINT64_MAX, &tile, err);
    }
    if (ret == 0) {
        ret = ntk_asked_list(query, "tracks", &tracks, &count, err);
    }
    if (ret == 0 && tensors) {
        ret = ntk_timeline_put_tensor_tile(tensors, (unsigned)level, tile, tracks, count, out, err);
    } else if (ret == 0) {
        ret = ntk_timeline_tile_put(ask->timeline, (unsigned)level, tile, tracks, count, out, err);
    }
    free(tracks);
    return ret;
}

static int answer_tiles(const struct ntk_timeline_ask *ask, const struct ntk_timeline_query *query,
                        struct ntk_buf *out, struct ntk_err *err)
{
    return put_tiles(ask, NULL, query, out, err);
}

static int answer_slice(const struct ntk_timeline_ask *ask, const struct ntk_timeline_query *query,
                        struct ntk_buf *out, struct ntk_err *err)
{
    uint64_t track = 0;
    uint64_t slice = 0;
    int ret = get_slice(query, &track, &slice, err);

    return ret == 0 ? ntk_timeline_put_slice(ask->timeline, track, slice, out, err) : ret;
}

static int answer_stats(const struct ntk_timeline_ask *ask, const struct ntk_timeline_query *query,
                        struct ntk_buf *out, struct ntk_err *err)
{
    struct range range;
    int ret = get_range(ask, query, &range, err);

    return ret == 0 ? ntk_timeline_put_stats(ask->timeline, range.from_ps, range.to_ps, out) : ret;
}

static int analyses_of(const struct ntk_timeline_ask *ask, size_t source,
                       const struct ntk_analyses **out_analyses, struct ntk_err *err);

/* Reads source, file and line; the file is a number in its positions. */
static int get_line(const struct ntk_timeline_ask *ask, const struct ntk_timeline_query *query,
                    struct ntk_timeline_wanted *out_wanted, struct ntk_err *err)
{
    const struct ntk_analyses *analyses = NULL;
    uint64_t source = 0;
    uint64_t file = 0;
    uint64_t line = 0;
    int ret = get_source(ask, query, &source, err);

    ret = ret ? ret : ntk_asked_u64(query, "file", UINT32_MAX - 1, &file, err);
    ret = ret ? ret : ntk_asked_u64(query, "line", UINT32_MAX, &line, err);
    ret = ret ? ret : analyses_of(ask, source, &analyses, err);
    if (ret == 0) {
        out_wanted->program = analyses->program;
        out_wanted->file = (uint32_t)file + 1;
        out_wanted->line = (uint32_t)line;
    }
    return ret;
}

static int answer_hits(const struct ntk_timeline_ask *ask, const struct ntk_timeline_query *query,
                       struct ntk_buf *out, struct ntk_err *err)
{
    uint64_t from = 0;
    uint64_t back = 0;
    uint64_t pc = 0;
    struct ntk_timeline_wanted wanted = { 0 };
    uint32_t *whats = NULL;
    size_t count = 0;
    int ret = ntk_asked_u64(query, "from", UINT64_MAX, &from, err);

    if (ret == 0) {
        ret = ntk_asked_u64(query, "back", 1, &back, err);
    }
    if (ret == 0 && ntk_asked_get(query, "pc")) {
        ret = ntk_asked_u64(query, "pc", UINT32_MAX, &pc, err);
        wanted.has_pc = true;
        wanted.pc = (uint32_t)pc;
    } else if (ret == 0 && ntk_asked_get(query, "line")) {
        ret = get_line(ask, query, &wanted, err);
    } else if (ret == 0) {
        ret = ntk_asked_list(query, "whats", &whats, &count, err);
    }
    if (ret < 0) {
        return ret;
    }
    bool *is_wanted = calloc(ask->timeline->whats.count + 1, sizeof *is_wanted);
    out->failed |= !is_wanted;
    for (size_t i = 0; is_wanted && whats && i < count; i++) {
        if (whats[i] < ask->timeline->whats.count) {
            is_wanted[whats[i]] = true;
        }
    }
    if (is_wanted) {
        wanted.whats = is_wanted;
        ret = ntk_timeline_put_hits(ask->timeline, &wanted, clipped(ask, from), back, out);
    }
    free(is_wanted);
    free(whats);
    return ret;
}

static int answer_summary(const struct ntk_timeline_ask *ask,
                          const struct ntk_timeline_query *query, struct ntk_buf *out,
                          struct ntk_err *err)
{
    struct ntk_summary summary = { 0 };
    uint64_t source = 0;
    int ret = get_source(ask, query, &source, err);

    if (ret == 0) {
        ret = ntk_analysis_summary(ask->timeline->sources[source].trace, &summary);
    }
    if (ret == 0) {
        ntk_output_summary_json(&summary, ask->timeline->sources[source].name, out);
        ntk_summary_fini(&summary);
    }
    return ret;
}

/* ---- analyses -------------------------------------------------------------------------------- */

static int analyses_of(const struct ntk_timeline_ask *ask, size_t source,
                       const struct ntk_analyses **out_analyses, struct ntk_err *err)
{
    const struct ntk_trace *trace = ask->timeline->sources[source].trace;
    struct ntk_analyses **slot = &ask->analyses[source];
    int ret = *slot ? 0 : ntk_analyses_create(trace, slot);

    *out_analyses = *slot;
    return ret < 0 ? ntk_long_list_err_set(err, ret, ntk_trace_folder_get(trace)) : ret;
}

/* Returns NULL for a row without a core. */
static int analyses_of_track(const struct ntk_timeline_ask *ask, uint64_t number,
                             size_t *out_source, const struct ntk_analyses **out_analyses,
                             struct ntk_err *err)
{
    const struct ntk_timeline_track *track =
        number < ask->timeline->tracks.count ? ntk_timeline_track_get(ask->timeline, number) : NULL;

    if (!track || !track->core) {
        return 0;
    }
    *out_source = ntk_timeline_source_of(ask->timeline, track);
    return analyses_of(ask, *out_source, out_analyses, err);
}

static int analyses_asked(const struct ntk_timeline_ask *ask,
                          const struct ntk_timeline_query *query, uint64_t *out_source,
                          const struct ntk_analyses **out_analyses, struct ntk_err *err)
{
    int ret = get_source(ask, query, out_source, err);

    return ret == 0 ? analyses_of(ask, *out_source, out_analyses, err) : ret;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static int tensors_of(const struct ntk_timeline_ask *ask, struct ntk_err *err)
{
    const struct ntk_analyses *analyses = NULL;
    int ret = 0;

    for (size_t s = 0; !*ask->tensors && s < ask->timeline->source_count && ret == 0; s++) {
        ret = analyses_of(ask, s, &analyses, err);
    }
    if (ret == 0 && !*ask->tensors) {
        ret = ntk_timeline_tensors_create(ask->timeline, ask->analyses, ask->tensors);
        ret = ret < 0 ? ntk_err_no_memory(err) : 0;
    }
    return ret;
}

static int answer_tensors(const struct ntk_timeline_ask *ask,
                          const struct ntk_timeline_query *query, struct ntk_buf *out,
                          struct ntk_err *err)
{
    int ret = tensors_of(ask, err);

    (void)query;
    if (ret == 0) {
        ntk_timeline_put_tensors(*ask->tensors, out);
    }
    return ret;
}

static int answer_tensor_tiles(const struct ntk_timeline_ask *ask,
                               const struct ntk_timeline_query *query, struct ntk_buf *out,
                               struct ntk_err *err)
{
    int ret = tensors_of(ask, err);

    return ret ? ret : put_tiles(ask, *ask->tensors, query, out, err);
}

/* Begins {"value": ...}; the value is written between these two functions, or null with the
 * reason. */
static void begin_value(struct ntk_json *json, struct ntk_buf *out)
{
    ntk_json_init(json, out, false);
    ntk_json_object_begin(json);
    ntk_json_key(json, "value");
}

/* Ends a value. ret is the result of writing it; -ENODATA: nothing was written because the files do
 * not record it, which is a valid answer. */
static int end_value(int ret, const char *absent, struct ntk_json *json)
{
    if (ret == -ENODATA) {
        ntk_json_null(json);
        ntk_json_key_text(json, "absent", absent);
        ret = 0;
    }
    ntk_json_object_end(json);
    return ret;
}

static int answer_analysis(const struct ntk_timeline_ask *ask,
                           const struct ntk_timeline_query *query, struct ntk_buf *out,
                           struct ntk_err *err)
{
    const struct ntk_analyses *analyses = NULL;
    const char *name = ntk_asked_get(query, "name");
    int index = name ? ntk_analyses_find(name) : -1;
    struct ntk_json json;
    uint64_t source = 0;
    uint64_t is_brief = 0;
    int ret = ntk_asked_get(query, "brief") ? ntk_asked_u64(query, "brief", 1, &is_brief, err) : 0;

    ret = ret ? ret : analyses_asked(ask, query, &source, &analyses, err);
    if (ret == 0 && index < 0) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "unknown analysis");
    }
    struct ntk_analyses own = ret == 0 ? *analyses : (struct ntk_analyses){ 0 };
    if (ret == 0 && ntk_asked_get(query, "changes")) {
        ret = ntk_what_if_changes_add(&own.changes, ntk_asked_get(query, "changes"), err);
        ret = ret ? ret : ntk_what_if_changes_check(own.program, &own.changes, err);
    }
    if (ret < 0) {
        return ret;
    }
    begin_value(&json, out);
    ret = is_brief ? ntk_analyses_put_brief(&own, (size_t)index, &json)
                   : ntk_analyses_put(&own, (size_t)index, NULL, &json);
    char absent[NTK_ANALYSES_ABSENT_BYTES] = "";
    return end_value(ret,
                     ret == -ENODATA
                         ? ntk_analyses_absent(analyses, (size_t)index, absent, sizeof absent)
                         : NULL,
                     &json);
}

static int answer_host(const struct ntk_timeline_ask *ask, const struct ntk_timeline_query *query,
                       struct ntk_buf *out, struct ntk_err *err)
{
    const char *name = ntk_asked_get(query, "name");
    struct ntk_json json;
    size_t index = 0;

    while (index < ntk_system_analyses_count() &&
           (!name || strcmp(ntk_system_analyses_info(index)->name, name) != 0)) {
        index++;
    }
    if (index == ntk_system_analyses_count()) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "unknown analysis");
    }
    const struct ntk_system_asked asked = { .traces = ask->traces,
                                            .trace_count = ask->trace_count };
    if (ask->joined_json && ntk_system_analyses_streams(index)) {
        ntk_buf_add_format(out, "{\"value\":%s}", ask->joined_json);
        return 0;
    }
    begin_value(&json, out);
    return end_value(ntk_system_analyses_put(&asked, index, NULL, &json),
                     ntk_system_analyses_info(index)->absent, &json);
}

static int answer_flows(const struct ntk_timeline_ask *ask, const struct ntk_timeline_query *query,
                        struct ntk_buf *out, struct ntk_err *err)
{
    const struct ntk_analyses *analyses = NULL;
    uint64_t track = 0;
    uint64_t slice = 0;
    size_t source = 0;
    int ret = get_slice(query, &track, &slice, err);

    ret = ret ? ret : analyses_of_track(ask, track, &source, &analyses, err);
    if (ret == 0 && analyses && !ask->operands[source]) {
        ask->operands[source] = ntk_operands_create(ask->timeline->sources[source].trace);
        ret = ask->operands[source] ? 0 : ntk_err_no_memory(err);
    }
    return ret == 0 ? ntk_timeline_put_flows(ask->timeline, analyses, ask->operands[source], track,
                                             slice, out, err)
                    : ret;
}

/* ---- source of kernels ----------------------------------------------------------------------- */

static int lines_asked(const struct ntk_timeline_ask *ask, const struct ntk_timeline_query *query,
                       uint64_t *out_source, const struct ntk_source_lines **out_lines,
                       struct ntk_err *err)
{
    const struct ntk_analyses *analyses = NULL;
    int ret = analyses_asked(ask, query, out_source, &analyses, err);

    if (ret < 0) {
        return ret;
    }
    struct ntk_source_lines **slot = &ask->lines[*out_source];
    ret = *slot ? 0 : ntk_timeline_lines_create(analyses, slot);
    *out_lines = *slot;
    return ret < 0 ? ntk_long_list_err_set(
                         err, ret, ntk_trace_folder_get(ask->timeline->sources[*out_source].trace))
                   : ret;
}

static int answer_lines(const struct ntk_timeline_ask *ask, const struct ntk_timeline_query *query,
                        struct ntk_buf *out, struct ntk_err *err)
{
    const struct ntk_source_lines *lines = NULL;
    uint64_t source = 0;
    int ret = lines_asked(ask, query, &source, &lines, err);

    if (ret == 0) {
        ntk_timeline_put_lines(ask->timeline, source, lines, ask->source_text, out);
    }
    return ret;
}

static int answer_iterations(const struct ntk_timeline_ask *ask,
                             const struct ntk_timeline_query *query, struct ntk_buf *out,
                             struct ntk_err *err)
{
    const struct ntk_source_lines *lines = NULL;
    uint64_t source = 0;
    uint64_t loop = 0;
    int ret = lines_asked(ask, query, &source, &lines, err);

    ret = ret ? ret : ntk_asked_u64(query, "loop", UINT32_MAX, &loop, err);
    return ret ? ret : ntk_timeline_put_iterations(ask->timeline, source, lines, loop, out, err);
}

static int answer_source_file(const struct ntk_timeline_ask *ask,
                              const struct ntk_timeline_query *query, struct ntk_buf *out,
                              struct ntk_err *err)
{
    const struct ntk_source_lines *lines = NULL;
    uint64_t source = 0;
    uint64_t file = 0;
    int ret = lines_asked(ask, query, &source, &lines, err);

    ret = ret ? ret : ntk_asked_u64(query, "file", UINT32_MAX, &file, err);
    return ret ? ret : ntk_timeline_put_source_file(lines, ask->source_text, file, out, err);
}

static int answer_position(const struct ntk_timeline_ask *ask,
                           const struct ntk_timeline_query *query, struct ntk_buf *out,
                           struct ntk_err *err)
{
    const struct ntk_analyses *analyses = NULL;
    uint64_t track = 0;
    uint64_t slice = 0;
    size_t source = 0;
    int ret = get_slice(query, &track, &slice, err);

    ret = ret ? ret : analyses_of_track(ask, track, &source, &analyses, err);
    return ret ? ret : ntk_timeline_put_position(ask->timeline, analyses, track, slice, out, err);
}

/* Writes an answer about one source and a range. */
typedef void put_in_range(const struct ntk_timeline *timeline, size_t source,
                          const struct ntk_analyses *analyses, int64_t from_ps, int64_t to_ps,
                          struct ntk_buf *out);

static int answer_in_range(const struct ntk_timeline_ask *ask,
                           const struct ntk_timeline_query *query, put_in_range *put,
                           struct ntk_buf *out, struct ntk_err *err)
{
    const struct ntk_analyses *analyses = NULL;
    struct range range;
    uint64_t source = 0;
    int ret = get_range(ask, query, &range, err);

    if (ret == 0) {
        ret = analyses_asked(ask, query, &source, &analyses, err);
    }
    if (ret == 0) {
        put(ask->timeline, source, analyses, range.from_ps, range.to_ps, out);
    }
    return ret;
}

static int answer_path(const struct ntk_timeline_ask *ask, const struct ntk_timeline_query *query,
                       struct ntk_buf *out, struct ntk_err *err)
{
    return answer_in_range(ask, query, ntk_timeline_put_path, out, err);
}

static int answer_flame(const struct ntk_timeline_ask *ask, const struct ntk_timeline_query *query,
                        struct ntk_buf *out, struct ntk_err *err)
{
    return answer_in_range(ask, query, ntk_timeline_put_flame, out, err);
}

static int answer_flame_stacks(const struct ntk_timeline_ask *ask,
                               const struct ntk_timeline_query *query, struct ntk_buf *out,
                               struct ntk_err *err)
{
    uint64_t source = 0;
    int ret = get_source(ask, query, &source, err);

    if (ret == 0) {
        ntk_timeline_put_flame_stacks(ask->timeline, source, out);
    }
    return ret;
}

static int answer_compare(const struct ntk_timeline_ask *ask,
                          const struct ntk_timeline_query *query, struct ntk_buf *out,
                          struct ntk_err *err)
{
    const struct ntk_analyses *analyses[2] = { NULL };
    struct ntk_json json;
    int ret = 0;

    (void)query;
    if (!ask->timeline->compares) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                           "no comparison: start neuron-profile view with --compare");
    }
    for (size_t s = 0; s < 2 && ret == 0; s++) {
        ret = analyses_of(ask, s, &analyses[s], err);
    }
    if (ret == 0) {
        ntk_json_init(&json, out, false);
        ret = ntk_output_compare_json(analyses[0], analyses[1], &json);
        if (ret < 0) {
            ntk_long_list_err_set(err, ret, ntk_trace_folder_get(ask->timeline->sources[0].trace));
        }
    }
    return ret;
}

static const struct {
    struct ntk_timeline_question info;
    answer *answer;
} questions[] = {
    { { "meta", "application/json", false }, answer_meta },
    { { "tiles", "application/octet-stream", false }, answer_tiles },
    { { "slice", "application/json", false }, answer_slice },
    { { "stats", "application/json", true }, answer_stats },
    { { "hits", "application/json", true }, answer_hits },
    { { "summary", "application/json", true }, answer_summary },
    { { "analysis", "application/json", true }, answer_analysis },
    { { "host", "application/json", true }, answer_host },
    { { "flows", "application/json", true }, answer_flows },
    { { "path", "application/json", true }, answer_path },
    { { "flame", "application/json", true }, answer_flame },
    { { "flame_stacks", "application/json", true }, answer_flame_stacks },
    { { "compare", "application/json", true }, answer_compare },
    { { "lines", "application/json", true }, answer_lines },
    { { "iterations", "application/json", true }, answer_iterations },
    { { "source_file", "application/json", true }, answer_source_file },
    { { "position", "application/json", true }, answer_position },
    { { "tensors", "application/json", true }, answer_tensors },
    { { "tensor_tiles", "application/octet-stream", true }, answer_tensor_tiles },
};

size_t ntk_timeline_question_count(void)
{
    return sizeof questions / sizeof *questions;
}

const struct ntk_timeline_question *ntk_timeline_question_get(size_t index)
{
    return &questions[index].info;
}

int ntk_timeline_ask(const struct ntk_timeline_ask *ask, size_t index,
                     const struct ntk_timeline_query *query, struct ntk_buf *out,
                     struct ntk_err *err)
{
    int ret = questions[index].answer(ask, query, out, err);

    /* the browser caches tiles, so few are requested twice */
    ntk_timeline_give_back_all(ask->timeline);
    for (size_t s = 0; questions[index].info.is_slow && s < ask->timeline->source_count; s++) {
        if (ask->analyses[s]) {
            ntk_analyses_give_back(ask->analyses[s]);
        }
    }
    return ret == 0 && !ntk_buf_ok(out) ? ntk_err_no_memory(err) : ret;
}

/* ---- its life -------------------------------------------------------------------------------- */

int ntk_timeline_ask_create(const struct ntk_timeline_ask_options *options,
                            struct ntk_timeline_ask **out_ask, struct ntk_err *err)
{
    struct ntk_timeline_ask *ask = calloc(1, sizeof *ask);

    if (!ask) {
        return ntk_err_no_memory(err);
    }
    ask->timeline = options->timeline;
    ask->traces = options->traces;
    ask->trace_count = options->trace_count;
    ask->joined_json = options->joined_json;
    ask->source_text = options->source_text;
    ask->title = strdup(options->title);
    ask->analyses = calloc(options->timeline->source_count + 1, sizeof(struct ntk_analyses *));
    ask->operands = calloc(options->timeline->source_count + 1, sizeof(struct ntk_operands *));
    ask->lines = calloc(options->timeline->source_count + 1, sizeof(struct ntk_source_lines *));
    ask->tensors = calloc(1, sizeof *ask->tensors);
    if (!ask->tensors || !ask->title || !ask->analyses || !ask->operands || !ask->lines) {
        ntk_timeline_ask_destroy(ask);
        return ntk_err_no_memory(err);
    }
    *out_ask = ask;
    return 0;
}

void ntk_timeline_ask_destroy(struct ntk_timeline_ask *ask)
{
    if (!ask) {
        return;
    }
    ntk_timeline_tensors_destroy(ask->tensors ? *ask->tensors : NULL);
    free(ask->tensors);
    for (size_t s = 0; ask->lines && s < ask->timeline->source_count; s++) {
        ntk_source_lines_destroy(ask->lines[s]); /* they borrow the analyses */
    }
    for (size_t s = 0; ask->analyses && s < ask->timeline->source_count; s++) {
        ntk_analyses_destroy(ask->analyses[s]);
    }
    for (size_t s = 0; ask->operands && s < ask->timeline->source_count; s++) {
        ntk_operands_destroy(ask->operands[s]);
    }
    free(ask->lines);
    free(ask->operands);
    free(ask->analyses);
    free(ask->title);
    free(ask);
}
