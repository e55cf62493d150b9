/* SPDX-License-Identifier: MIT */
/*
 * nrt_trace_types - names and filters events of a system trace, and writes them as JSON.
 *
 * A set of types is a mask: bit i is row i of nrt_trace_types.def.
 * Owner:   the application owns lists of names and frees them with nrt_trace_names_free().
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_TRACE_TYPES_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_TRACE_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime-hooks/core/core_trace.h"
#include "runtime-hooks/libnrt/nrt_front.h"
#include "shared/base/json.h"

#define NRT_TRACE_EVENTS_PER_NC 1000000U
#define NRT_TRACE_CORES 1024U

uint64_t nrt_trace_types_all(void);
/* Adds or removes the types for a word: an event, an older spelling, "hardware" or "software".
 * Returns false for an unknown word. */
bool nrt_trace_types_set(uint64_t *types, const char *word, bool enabled);
/* Parses a list such as "a,b,^c": commas separate words, ^ removes a type, "*" or "all" means all
 * types; a list that begins with ^ starts with all types. Returns false for an unknown word, which
 * is stored truncated in *out_word. */
bool nrt_trace_types_parse(const char *list, uint64_t *out_types, char *out_word,
                           size_t word_bytes);
/* Returns the kinds that the core must record. */
uint64_t nrt_trace_types_kinds(uint64_t types);
/* Returns NTK_CORE_TRACE_KINDS names, by kind; "" for a kind without a public name. */
const char *const *nrt_trace_kind_names(void);
/* Returns a malloc'ed array of malloc'ed names, as public calls do. */
NRT_STATUS nrt_trace_types_list(uint64_t types, const char ***out_names, size_t *out_count);
NRT_STATUS nrt_trace_names_dup(const char *const *names, size_t count, const char ***out_names);
void nrt_trace_names_free(const char **names, size_t count);

/* Writes one element of "events". The sink of its type must be on. */
void nrt_trace_event_write(struct ntk_json *json, const struct ntk_ntrace_event *event, uint32_t nc,
                           uint32_t worker);

#endif
