/* SPDX-License-Identifier: MIT */
/* remote_write_encode - lines of text to labels, samples and requests. */
#include "exporters/remote_write/remote_write_encode.h"

#include <errno.h>
#include <math.h>
#include <snappy-c.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/remote_write/remote_write.pb-c.h"
#include "shared/base/map.h"

/* Texts of a request before its samples are as many as may be. */
#define REQUEST_TEXT_BYTES ((size_t)4 * 1024 * 1024)

struct series {
    Ntk__RemoteWrite__TimeSeries row;
    Ntk__RemoteWrite__Label labels[NTK_REMOTE_WRITE_LABELS_MAX];
    Ntk__RemoteWrite__Label *label_rows[NTK_REMOTE_WRITE_LABELS_MAX];
    Ntk__RemoteWrite__Sample sample;
    Ntk__RemoteWrite__Sample *sample_rows[1];
};

struct ntk_remote_write {
    const char *job;
    const char *instance;
    struct ntk_map seen; /* series text -> generation of the page that had it last */
    uintptr_t generation;
    struct series *series; /* NTK_REMOTE_WRITE_SAMPLES */
    Ntk__RemoteWrite__TimeSeries **rows;
    size_t series_count;
    char *text; /* names and values of the labels; REQUEST_TEXT_BYTES */
    size_t text_bytes;
    struct ntk_buf proto;
    int64_t time_ms;
    int (*emit)(struct ntk_buf *request, uint64_t sample_count, void *ctx, struct ntk_err *err);
    void *ctx;
};

struct ntk_remote_write *ntk_remote_write_create(const char *job, const char *instance)
{
    struct ntk_remote_write *state = calloc(1, sizeof *state);

    if (!state) {
        return NULL;
    }
    state->job = job;
    state->instance = instance;
    state->series = calloc(NTK_REMOTE_WRITE_SAMPLES, sizeof *state->series);
    state->rows = calloc(NTK_REMOTE_WRITE_SAMPLES, sizeof(void *));
    state->text = malloc(REQUEST_TEXT_BYTES);
    if (!state->series || !state->rows || !state->text) {
        ntk_remote_write_destroy(state);
        return NULL;
    }
    return state;
}

void ntk_remote_write_destroy(struct ntk_remote_write *state)
{
    if (!state) {
        return;
    }
    ntk_map_fini(&state->seen);
    ntk_buf_fini(&state->proto);
    free(state->series);
    free(state->rows);
    free(state->text);
    free(state);
}

/* -- a request ---------------------------------------------------------------------------------- */

static int flush(struct ntk_remote_write *state, struct ntk_err *err)
{
    Ntk__RemoteWrite__WriteRequest request = NTK__REMOTE_WRITE__WRITE_REQUEST__INIT;
    struct ntk_buf out = { 0 };
    uint64_t count = state->series_count;

    if (count == 0) {
        return 0;
    }
    request.n_timeseries = state->series_count;
    request.timeseries = state->rows;
    ntk_buf_reset(&state->proto);
    size_t proto_bytes = ntk__remote_write__write_request__get_packed_size(&request);
    void *proto = ntk_buf_extend(&state->proto, proto_bytes);
    size_t out_bytes = snappy_max_compressed_length(proto_bytes);
    char *to = ntk_buf_extend(&out, out_bytes);
    state->series_count = 0;
    state->text_bytes = 0;
    if (!proto || !to) {
        ntk_buf_fini(&out);
        return ntk_err_no_memory(err);
    }
    ntk__remote_write__write_request__pack(&request, proto);
    if (snappy_compress(proto, proto_bytes, to, &out_bytes) != SNAPPY_OK) {
        ntk_buf_fini(&out);
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "snappy fails");
    }
    out.bytes_count = out_bytes;
    int ret = state->emit(&out, count, state->ctx, err);
    ntk_buf_fini(&out);
    return ret;
}

/* A copy in the request's text, unescaped; NULL when there is no room. */
static char *add_text(struct ntk_remote_write *state, const char *text, size_t text_bytes)
{
    char *to = state->text + state->text_bytes;

    if (REQUEST_TEXT_BYTES - state->text_bytes <= text_bytes) {
        return NULL;
    }
    char *at = to;
    for (size_t i = 0; i < text_bytes; i++) {
        char c = text[i];
        if (c == '\\' && i + 1 < text_bytes) {
            c = text[++i] == 'n' ? '\n' : text[i];
        }
        *at++ = c;
    }
    *at++ = '\0';
    state->text_bytes += (size_t)(at - to);
    return to;
}

static bool add_label(struct ntk_remote_write *state, struct series *series, const char *name,
                      size_t name_bytes, const char *value, size_t value_bytes)
{
    size_t count = series->row.n_labels;

    if (value_bytes == 0) {
        return true; /* an empty label is none */
    }
    if (count == NTK_REMOTE_WRITE_LABELS_MAX) {
        return false;
    }
    Ntk__RemoteWrite__Label *label = &series->labels[count];
    ntk__remote_write__label__init(label);
    label->name = add_text(state, name, name_bytes);
    label->value = label->name ? add_text(state, value, value_bytes) : NULL;
    if (!label->value) {
        return false;
    }
    series->label_rows[series->row.n_labels++] = label;
    return true;
}

static int by_name(const void *a, const void *b)
{
    const Ntk__RemoteWrite__Label *const *first = a;
    const Ntk__RemoteWrite__Label *const *second = b;

    return strcmp((*first)->name, (*second)->name);
}

/* The end of a quoted value. */
static const char *quote_end(const char *at, const char *end)
{
    while (at < end && *at != '"') {
        at += *at == '\\' ? 2 : 1;
    }
    return at < end ? at : NULL;
}

/* name{label="value",...}: false when it is not that. */
static bool parse_series(struct ntk_remote_write *state, struct series *series, const char *text,
                         size_t text_bytes)
{
    const char *end = text + text_bytes;
    const char *brace = memchr(text, '{', text_bytes);
    const char *name_end = brace ? brace : end;

    if (name_end == text ||
        !add_label(state, series, "__name__", 8, text, (size_t)(name_end - text))) {
        return false;
    }
    const char *at = brace ? brace + 1 : end;
    while (at < end && *at != '}') {
        const char *equals = memchr(at, '=', (size_t)(end - at));
        if (!equals || equals + 1 >= end || equals[1] != '"') {
            return false;
        }
        const char *close = quote_end(equals + 2, end);
        if (!close || !add_label(state, series, at, (size_t)(equals - at), equals + 2,
                                 (size_t)(close - equals - 2))) {
            return false;
        }
        at = close + 1;
        at += at < end && *at == ',';
    }
    if (brace && at != end - 1) {
        return false;
    }
    return add_label(state, series, "job", 3, state->job, strlen(state->job)) &&
           add_label(state, series, "instance", 8, state->instance, strlen(state->instance));
}

static int add_series(struct ntk_remote_write *state, const char *text, size_t text_bytes,
                      double value, struct ntk_err *err)
{
    if (state->series_count == NTK_REMOTE_WRITE_SAMPLES ||
        state->text_bytes > REQUEST_TEXT_BYTES / 2) {
        int ret = flush(state, err);
        if (ret < 0) {
            return ret;
        }
    }
    struct series *series = &state->series[state->series_count];
    ntk__remote_write__time_series__init(&series->row);
    series->row.labels = series->label_rows;
    if (!parse_series(state, series, text, text_bytes)) {
        return -EBADMSG;
    }
    qsort(series->label_rows, series->row.n_labels, sizeof(void *), by_name);
    ntk__remote_write__sample__init(&series->sample);
    series->sample.timestamp = state->time_ms;
    memcpy(&series->sample.value, &value, sizeof value);
    series->sample_rows[0] = &series->sample;
    series->row.samples = series->sample_rows;
    series->row.n_samples = 1;
    state->rows[state->series_count++] = &series->row;
    return 0;
}

/* -- a page ------------------------------------------------------------------------------------- */

/* Remembers that this page has the series: the map's value is the page's number. */
static int remember(struct ntk_remote_write *state, const char *text, size_t text_bytes)
{
    char *key = strndup(text, text_bytes);

    if (!key) {
        return -ENOMEM;
    }
    int ret = ntk_map_put(&state->seen, key, (void *)state->generation);
    free(key);
    return ret;
}

/* One last sample for each series that this page does not have, and forgets it. */
static int end_missing(struct ntk_remote_write *state, struct ntk_err *err)
{
    const uint64_t bits = NTK_REMOTE_WRITE_STALE_BITS;
    struct ntk_map kept = { 0 };
    double stale;
    int ret = 0;

    memcpy(&stale, &bits, sizeof stale);
    ntk_map_each(entry, &state->seen) {
        if ((uintptr_t)entry->value == state->generation) {
            ret = ntk_map_put(&kept, entry->key, entry->value);
        } else {
            ret = add_series(state, entry->key, strlen(entry->key), stale, err);
        }
        if (ret < 0) {
            break;
        }
    }
    if (ret < 0) {
        ntk_map_fini(&kept);
        return ret;
    }
    ntk_map_fini(&state->seen);
    state->seen = kept;
    return 0;
}

static int add_line(struct ntk_remote_write *state, const char *line, size_t line_bytes,
                    bool *out_is_new, struct ntk_err *err)
{
    const char *space = memrchr(line, ' ', line_bytes);
    char *end;

    if (!space) {
        return -EBADMSG;
    }
    double value = strtod(space + 1, &end);
    if (end != line + line_bytes || end == space + 1) {
        return -EBADMSG;
    }
    char *key = strndup(line, (size_t)(space - line));
    if (!key) {
        return -ENOMEM;
    }
    *out_is_new = !ntk_map_get(&state->seen, key);
    free(key);
    int ret = add_series(state, line, (size_t)(space - line), value, err);
    return ret < 0 ? ret : remember(state, line, (size_t)(space - line));
}

int ntk_remote_write_encode(struct ntk_remote_write *state, const char *page, size_t page_bytes,
                            int64_t time_ms,
                            int (*emit)(struct ntk_buf *request, uint64_t sample_count, void *ctx,
                                        struct ntk_err *err),
                            void *ctx, struct ntk_err *err)
{
    size_t known = state->seen.count;
    size_t found = 0;

    state->generation++;
    state->time_ms = time_ms;
    state->emit = emit;
    state->ctx = ctx;
    state->series_count = 0;
    state->text_bytes = 0;
    for (size_t at = 0; at < page_bytes;) {
        const char *newline = memchr(page + at, '\n', page_bytes - at);
        size_t line_bytes = newline ? (size_t)(newline - page) - at : page_bytes - at;
        if (line_bytes && page[at] != '#') {
            bool is_new = false;
            int ret = add_line(state, page + at, line_bytes, &is_new, err);
            if (ret == -EBADMSG) {
                return ntk_err_set(err, ret, at, "a line of the page is not a sample");
            }
            if (ret < 0) {
                return ret;
            }
            found += !is_new;
        }
        at += line_bytes + 1;
    }
    int ret = found < known ? end_missing(state, err) : 0;
    return ret < 0 ? ret : flush(state, err);
}
