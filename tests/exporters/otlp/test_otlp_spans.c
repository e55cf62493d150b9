/* SPDX-License-Identifier: MIT */
/* Method: hand-made spans of the sample machine; the requests are read back with the generated
 * reader. */
#include "exporters/otlp/otlp_spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/otlp/otlp_config.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

#define START UINT64_C(1763700000000000000)
#define REQUESTS_MAX 8

static const struct ntk_otlp_machine machine = { "host", "", "", "", "" };

struct fixture {
    struct ntk_snapshot *snapshot;
    Ntk__Otlp__TracesRequest *requests[REQUESTS_MAX]; /* of the last encoding */
    size_t request_count;
    uint64_t span_count;
    int code; /* what emit returns */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->snapshot = test_sample_snapshot(2);
    *state = f;
    return 0;
}

static void forget(struct fixture *f)
{
    for (size_t i = 0; i < f->request_count; i++) {
        ntk__otlp__traces_request__free_unpacked(f->requests[i], NULL);
    }
    f->request_count = 0;
    f->span_count = 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    forget(f);
    ntk_snapshot_destroy(f->snapshot);
    free(f);
    return 0;
}

/* An execution of the first runtime. */
static struct ntk_span execution(const struct fixture *f, uint64_t number)
{
    return (struct ntk_span){ .start_ns = START + number * 1000,
                              .duration_ns = 500,
                              .kind = NTK_EVENT_EXEC,
                              .why = NTK_SPAN_EVERY,
                              .core = 3,
                              .key = ntk_runtime_key(&f->snapshot->runtimes[0]),
                              .pid = f->snapshot->runtimes[0].pid,
                              .tid = 77,
                              .model_id = 10001,
                              .number = number,
                              .core_ns = 400,
                              .model_name = "mlp" };
}

static int keep(struct ntk_buf *request, uint64_t span_count, void *ctx, struct ntk_err *err)
{
    struct fixture *f = ctx;

    (void)err;
    assert_true(f->request_count < REQUESTS_MAX);
    assert_true(span_count > 0 && span_count <= NTK_OTLP_SPANS_MAX);
    f->requests[f->request_count] = ntk__otlp__traces_request__unpack(
        NULL, request->bytes_count, (const uint8_t *)request->bytes);
    assert_non_null(f->requests[f->request_count]);
    f->request_count++;
    f->span_count += span_count;
    return f->code;
}

static void encode(struct fixture *f, const struct ntk_span *spans, size_t count)
{
    struct ntk_err err = { 0 };
    uint64_t lost = 99;

    forget(f);
    f->snapshot->spans = spans;
    f->snapshot->span_count = count;
    assert_int_equal(ntk_otlp_spans_encode(f->snapshot, &machine, NULL, keep, f, &lost, &err),
                     f->code);
    assert_int_equal(lost, 0);
    assert_int_equal(f->span_count, count);
}

static const Ntk__Otlp__Span *span_at(const struct fixture *f, size_t request, size_t index)
{
    return f->requests[request]->resource_spans[0]->scope_spans[0]->spans[index];
}

static const Ntk__Otlp__AnyValue *value_of(const Ntk__Otlp__Span *span, const char *name)
{
    const Ntk__Otlp__AnyValue *found = NULL;

    for (size_t i = 0; i < span->n_attributes; i++) {
        if (strcmp(span->attributes[i]->key, name) == 0) {
            assert_null(found); /* keys are unique */
            found = span->attributes[i]->value;
        }
    }
    return found;
}

static const char *text_of(const Ntk__Otlp__Span *span, const char *name)
{
    const Ntk__Otlp__AnyValue *value = value_of(span, name);

    return value ? value->text : "(none)";
}

static int64_t number_of(const Ntk__Otlp__Span *span, const char *name)
{
    const Ntk__Otlp__AnyValue *value = value_of(span, name);

    return value ? value->number : -1;
}

static bool is_same(ProtobufCBinaryData a, ProtobufCBinaryData b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

static bool is_zero(ProtobufCBinaryData id)
{
    for (size_t i = 0; i < id.len; i++) {
        if (id.data[i]) {
            return false;
        }
    }
    return true;
}

static void an_execution_span_has_time_core_and_process(void **state)
{
    struct fixture *f = *state;
    const struct ntk_span one = execution(f, 5);

    encode(f, &one, 1);
    const Ntk__Otlp__Span *span = span_at(f, 0, 0);
    assert_string_equal(span->name, "execute mlp");
    assert_int_equal(span->kind, NTK__OTLP__SPAN_KIND__INTERNAL);
    assert_int_equal(span->start_time_unix_nano, one.start_ns);
    assert_int_equal(span->end_time_unix_nano, one.start_ns + 500);
    assert_int_equal(span->trace_id.len, 16);
    assert_int_equal(span->span_id.len, 8);
    assert_int_equal(span->parent_span_id.len, 0);
    assert_int_equal(span->flags, 1);
    assert_null(span->status);
    assert_int_equal(number_of(span, "process.pid"), one.pid);
    assert_int_equal(number_of(span, "thread.id"), 77);
    assert_string_equal(text_of(span, "neuron.runtime_tag"), f->snapshot->runtimes[0].tag);
    assert_string_equal(text_of(span, "hw.id"), "neuron0");
    assert_int_equal(number_of(span, "neuron.core"), 1); /* logical; 3 is the physical one */
    assert_string_equal(text_of(span, "neuron.model.name"), "mlp");
    assert_int_equal(number_of(span, "neuron.execution.id"), 5);
    assert_int_equal(number_of(span, "neuron.core_time_ns"), 400);
    assert_null(value_of(span, "neuron.queue"));
    assert_string_equal(text_of(span, "neuron.sampled_by"), "every");
    assert_null(value_of(span, "error.type"));
}

static void load_and_collective_spans_have_specific_attributes(void **state)
{
    struct fixture *f = *state;
    struct ntk_span spans[3] = { execution(f, 1), execution(f, 2), execution(f, 3) };

    spans[0].kind = NTK_EVENT_MODEL_LOAD;
    spans[0].why = NTK_SPAN_LOAD | NTK_SPAN_SLOW;
    spans[0].bytes = 4096;
    spans[1].kind = NTK_EVENT_COLLECTIVE;
    spans[1].operation = NTK_COLLECTIVE_ALL_REDUCE;
    spans[1].model_id = 0;
    spans[1].bytes = 64;
    spans[1].rank = 2;
    spans[1].rank_count = 4;
    spans[2].kind = NTK_EVENT_COLLECTIVE;
    spans[2].operation = 200; /* of a hostile or newer segment */
    spans[2].core = NTK_NO_CORE;
    spans[2].model_id = 0;
    encode(f, spans, 3);
    const Ntk__Otlp__Span *span = span_at(f, 0, 0);
    assert_string_equal(span->name, "load mlp");
    assert_int_equal(number_of(span, "neuron.model.device_bytes"), 4096);
    assert_string_equal(text_of(span, "neuron.sampled_by"), "slow,load");
    span = span_at(f, 0, 1);
    assert_string_equal(span->name, "all_reduce");
    assert_int_equal(number_of(span, "neuron.collective.sequence"), 2);
    assert_int_equal(number_of(span, "neuron.collective.bytes"), 64);
    assert_int_equal(number_of(span, "neuron.collective.wait_ns"), 400);
    assert_int_equal(number_of(span, "neuron.collective.rank"), 2);
    assert_int_equal(number_of(span, "neuron.collective.rank_count"), 4);
    assert_null(value_of(span, "neuron.model.id"));
    span = span_at(f, 0, 2);
    assert_string_equal(span->name, "collective");
    assert_null(value_of(span, "neuron.core"));
    assert_null(value_of(span, "neuron.collective.rank"));
}

static void a_failed_execution_span_has_an_error_status_with_its_name(void **state)
{
    struct fixture *f = *state;
    struct ntk_span spans[2] = { execution(f, 1), execution(f, 2) };

    spans[0].status = 1003;
    spans[1].status = 4711;
    spans[1].why = NTK_SPAN_FAILED;
    encode(f, spans, 2);
    const Ntk__Otlp__Span *span = span_at(f, 0, 0);
    assert_int_equal(span->status->code, NTK__OTLP__STATUS_CODE__FAILED);
    assert_string_equal(span->status->message, "status 1003 (numerical_error)");
    assert_string_equal(text_of(span, "error.type"), "numerical_error");
    assert_int_equal(number_of(span, "neuron.status"), 1003);
    span = span_at(f, 0, 1);
    assert_string_equal(text_of(span, "error.type"), "_OTHER");
    assert_int_equal(number_of(span, "neuron.status"), 4711);
}

static void a_child_span_belongs_to_the_trace_of_its_parent(void **state)
{
    static const uint8_t trace[] = { 0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd,
                                     0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c };
    static const uint8_t caller[] = { 0, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31 };
    struct fixture *f = *state;
    struct ntk_span one = execution(f, 1);

    one.parent = (struct ntk_span_parent){ .trace_high = UINT64_C(0x0af7651916cd43dd),
                                           .trace_low = UINT64_C(0x8448eb211c80319c),
                                           .span = UINT64_C(0x00ad6b7169203331),
                                           .flags = 0x02 };
    encode(f, &one, 1);
    const Ntk__Otlp__Span *span = span_at(f, 0, 0);
    assert_int_equal(span->trace_id.len, 16);
    assert_memory_equal(span->trace_id.data, trace, 16);
    assert_int_equal(span->parent_span_id.len, 8);
    assert_memory_equal(span->parent_span_id.data, caller, 8);
    assert_int_equal(span->flags, 0x03);
    assert_false(is_same(span->span_id, span->parent_span_id));
}

/* Ids are the same for the same span, and only then; an execution on two cores is one trace. */
static void span_ids_depend_only_on_the_span_content(void **state)
{
    struct fixture *f = *state;
    struct ntk_span spans[5] = { execution(f, 1), execution(f, 1), execution(f, 1), execution(f, 2),
                                 execution(f, 1) };
    uint8_t trace[16];
    uint8_t id[8];

    spans[1].core = 4; /* the execution continues there */
    spans[2].key.start_time++;
    spans[4].kind = NTK_EVENT_COLLECTIVE;
    encode(f, spans, 5);
    memcpy(trace, span_at(f, 0, 0)->trace_id.data, 16);
    memcpy(id, span_at(f, 0, 0)->span_id.data, 8);
    assert_true(is_same(span_at(f, 0, 0)->trace_id, span_at(f, 0, 1)->trace_id));
    for (size_t i = 0; i < 5; i++) {
        assert_false(is_zero(span_at(f, 0, i)->trace_id) || is_zero(span_at(f, 0, i)->span_id));
        for (size_t k = 0; k < i; k++) {
            assert_false(is_same(span_at(f, 0, i)->span_id, span_at(f, 0, k)->span_id));
            assert_true((i == 1 && k == 0) ||
                        !is_same(span_at(f, 0, i)->trace_id, span_at(f, 0, k)->trace_id));
        }
    }
    spans[0].why = NTK_SPAN_SLOW; /* another agent chose it for another reason */
    encode(f, spans, 1);
    assert_memory_equal(span_at(f, 0, 0)->trace_id.data, trace, 16);
    assert_memory_equal(span_at(f, 0, 0)->span_id.data, id, 8);
    f->snapshot->boot_id = "another";
    encode(f, spans, 1);
    assert_memory_not_equal(span_at(f, 0, 0)->trace_id.data, trace, 16);
}

static void spans_of_an_unlisted_process_have_fewer_attributes(void **state)
{
    struct fixture *f = *state;
    struct ntk_span one = execution(f, 1);

    one.key.header_pid = 999999;
    one.model_name = "";
    one.duration_ns = UINT64_MAX; /* of a hostile segment */
    encode(f, &one, 1);
    const Ntk__Otlp__Span *span = span_at(f, 0, 0);
    assert_string_equal(span->name, "execute");
    assert_null(value_of(span, "neuron.runtime_tag"));
    assert_int_equal(number_of(span, "process.pid"), one.pid);
    assert_true(span->end_time_unix_nano == UINT64_MAX);
}

/* A collector rejects a whole request for one byte that is not UTF-8. */
static void process_strings_in_spans_are_valid_utf_8(void **state)
{
    struct fixture *f = *state;
    struct ntk_span spans[2] = { execution(f, 1), execution(f, 2) };
    char long_name[1000];

    memset(long_name, 'm', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    spans[0].model_name = "a\xff\xc3z";
    spans[1].model_name = long_name;
    f->snapshot->runtimes[0].tag = "t\xf0\x80";
    encode(f, spans, 2);
    const Ntk__Otlp__Span *span = span_at(f, 0, 0);
    assert_string_equal(span->name, "execute a\xef\xbf\xbd\xef\xbf\xbdz");
    assert_string_equal(text_of(span, "neuron.model.name"), "a\xef\xbf\xbd\xef\xbf\xbdz");
    assert_int_equal(strncmp(text_of(span, "neuron.runtime_tag"), "t\xef\xbf\xbd", 4), 0);
    span = span_at(f, 0, 1);
    assert_true(strlen(span->name) < 200);
    assert_string_equal(text_of(span, "neuron.model.name"), long_name);
}

static void spans_are_split_into_requests_that_fail_independently(void **state)
{
    enum { COUNT = 2 * NTK_OTLP_SPANS_MAX + 7 };
    struct fixture *f = *state;
    struct ntk_span *spans = calloc(COUNT, sizeof *spans);

    for (size_t i = 0; i < COUNT; i++) {
        spans[i] = execution(f, i + 1);
    }
    encode(f, spans, COUNT);
    assert_int_equal(f->request_count, 3);
    assert_int_equal(number_of(span_at(f, 2, 6), "neuron.execution.id"), COUNT);
    f->code = -ENOSPC; /* the others are still offered */
    encode(f, spans, COUNT);
    assert_int_equal(f->request_count, 3);
    f->code = 0;
    encode(f, NULL, 0);
    assert_int_equal(f->request_count, 0);
    free(spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        CASE(an_execution_span_has_time_core_and_process),
        CASE(load_and_collective_spans_have_specific_attributes),
        CASE(a_failed_execution_span_has_an_error_status_with_its_name),
        CASE(a_child_span_belongs_to_the_trace_of_its_parent),
        CASE(span_ids_depend_only_on_the_span_content),
        CASE(spans_of_an_unlisted_process_have_fewer_attributes),
        CASE(process_strings_in_spans_are_valid_utf_8),
        CASE(spans_are_split_into_requests_that_fail_independently),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
