/* SPDX-License-Identifier: MIT */
#include "tests/profiler/timeline/hand_timeline.h"

#include "tests/support/unit.h"

void hand_timeline_open(struct hand_timeline *t, int64_t origin_ns)
{
    struct ntk_timeline_source source = { .trace = &t->h.trace,
                                          .name = "one",
                                          .offset_ps = -NS(origin_ns) };
    const struct ntk_timeline_options options = { .sources = &source, .source_count = 1 };

    t->timeline = NULL;
    t->analyses = NULL;
    hand_trace_end(&t->h);
    assert_int_equal(ntk_timeline_create(&options, &t->timeline, NULL), 0);
    assert_int_equal(ntk_analyses_create(&t->h.trace, &t->analyses), 0);
}

void hand_timeline_close(struct hand_timeline *t)
{
    ntk_analyses_destroy(t->analyses);
    ntk_timeline_destroy(t->timeline);
    hand_trace_fini(&t->h);
}

json_t *json_of(struct ntk_buf *buf)
{
    json_t *json = json_loadb(ntk_buf_text_get(buf), buf->bytes_count, JSON_DECODE_ANY, NULL);

    assert_non_null(json);
    ntk_buf_fini(buf);
    return json;
}

json_int_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

const char *text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}
