/* SPDX-License-Identifier: MIT */
/* trace_fixture - the system trace as a client uses it: start, work, fetch per core, parse. */
#ifndef NTK_TESTS_RUNTIME_HOOKS_LIBNRT_TRACE_FIXTURE_H
#define NTK_TESTS_RUNTIME_HOOKS_LIBNRT_TRACE_FIXTURE_H

#include <jansson.h>

#include "nrt/nrt_sys_trace.h"
#include "tests/runtime-hooks/libnrt/runtime.h"

#define TRACE_TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)

void trace_init(void);
void trace_run(struct loaded *loaded);

/* Parses as a client does: using only the length. */
json_t *trace_fetch(const nrt_sys_trace_fetch_options_t *options);
json_t *trace_fetch_core(uint64_t nc, uint64_t count);
json_int_t event_number(const json_t *object, const char *key);
const char *event_text(const json_t *object, const char *key);
size_t events_count(const json_t *root, const char *type, const char *phase);

/* The event of a type and phase, in array order. */
const json_t *events_find(const json_t *root, const char *type, const char *phase, size_t which);

/* Every start is followed by its stop, with a tracking id that no other event has. */
size_t events_check_pairs(const json_t *root);

#endif
