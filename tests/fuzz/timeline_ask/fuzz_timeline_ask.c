/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a query of the page, NAME?PARAMETER=VALUE&...: an answer is well-formed and of
 * bounded size, an error is one message.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "profiler/timeline/timeline_ask.h"
#include "profiler/timeline/timeline_tile.h"
#include "tests/support/trace_sample.h"

#define SLICES 700 /* of a row: more than a tile lists individually */
#define ANSWER_BYTES_MAX ((size_t)8 << 20)
#define PARAMETERS_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct question {
    const char *names[PARAMETERS_MAX], *values[PARAMETERS_MAX];
    size_t count;
};

static const char *value_of(const char *name, void *ctx)
{
    const struct question *question = ctx;

    for (size_t i = 0; i < question->count; i++) {
        if (strcmp(question->names[i], name) == 0) {
            return question->values[i];
        }
    }
    return NULL;
}

/* Splits the text into parameters; excess ones are dropped. */
static void parse(char *text, struct question *out)
{
    char *next = strchr(text, '?');

    while (next && out->count < PARAMETERS_MAX) {
        char *name = next + 1;
        *next = '\0';
        next = strchr(name, '&');
        if (next) {
            *next = '\0';
        }
        char *value = strchr(name, '=');
        if (value) {
            *value = '\0';
        }
        out->names[out->count] = name;
        out->values[out->count++] = value ? value + 1 : NULL;
    }
}

static struct ntk_timeline_ask *make(void)
{
    struct trace_sample *sample = trace_sample_create(SLICES);
    /* An offset with which times exceed 53 bits. */
    struct ntk_timeline_source sources[] = {
        { .trace = &sample->trace, .name = "first" },
        { .trace = &sample->trace, .name = "second", .offset_ps = (INT64_C(1) << 55) + 5 },
    };
    struct ntk_timeline *timeline = NULL;
    struct ntk_timeline_ask *ask = NULL;

    if (ntk_timeline_create(&(struct ntk_timeline_options){ .sources = sources,
                                                            .source_count = 2,
                                                            .compares = true },
                            &timeline, NULL) < 0 ||
        ntk_timeline_ask_create(
            &(struct ntk_timeline_ask_options){ .timeline = timeline, .title = "a title" }, &ask,
            NULL) < 0) {
        abort();
    }
    return ask;
}

static void check_tile(const struct ntk_buf *out)
{
    struct ntk_timeline_tile_head head;
    size_t at = sizeof head;

    if (out->bytes_count < at) {
        abort();
    }
    memcpy(&head, out->bytes, sizeof head);
    for (uint32_t i = 0; i < head.track_count; i++) {
        struct ntk_timeline_tile_section section;
        if (out->bytes_count - at < sizeof section) {
            abort();
        }
        memcpy(&section, out->bytes + at, sizeof section);
        at +=
            sizeof section + section.entry_count * (section.form == NTK_TIMELINE_FORM_SLICES
                                                        ? sizeof(struct ntk_timeline_tile_slice)
                                                        : sizeof(struct ntk_timeline_tile_bucket));
        if (at > out->bytes_count) {
            abort();
        }
    }
    if (head.magic != NTK_TIMELINE_TILE_MAGIC || at != out->bytes_count) {
        abort();
    }
}

static void check_answer(const struct ntk_timeline_question *question, const struct ntk_buf *out)
{
    if (out->bytes_count > ANSWER_BYTES_MAX) {
        abort();
    }
    if (strcmp(question->content_type, "application/json") != 0) {
        check_tile(out);
        return;
    }
    json_t *json = json_loadb(out->bytes, out->bytes_count, JSON_DECODE_ANY, NULL);
    if (!json) {
        abort();
    }
    json_decref(json);
}

static void check_error(int ret, const struct ntk_err *err)
{
    if ((ret != -EINVAL && ret != -ENOENT) || !err->text[0] || strchr(err->text, '\n')) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ntk_timeline_ask *ask; /* for all queries; not a leak, since it stays reachable */
    struct question question = { 0 };
    struct ntk_timeline_query query = { value_of, &question };
    char *text = strndup((const char *)data, size);

    if (!text || (!ask && !(ask = make()))) {
        abort();
    }
    parse(text, &question);
    text[strcspn(text, "\n")] = '\0';
    for (size_t i = 0; i < ntk_timeline_question_count(); i++) {
        struct ntk_buf out = { 0 };
        struct ntk_err err = { 0 };
        if (strcmp(ntk_timeline_question_get(i)->name, text) != 0) {
            continue;
        }
        int ret = ntk_timeline_ask(ask, i, &query, &out, &err);
        if (ret < 0) {
            check_error(ret, &err);
        } else {
            check_answer(ntk_timeline_question_get(i), &out);
        }
        ntk_buf_fini(&out);
    }
    free(text);
    return 0;
}
