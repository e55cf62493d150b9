/* SPDX-License-Identifier: MIT */
/*
 * spans - individual executions, loads and collectives in a snapshot, chosen by rules, for
 * exporters of traces.
 *
 * Owner:   the snapshot. Threads: the same as for the snapshot; the functions are pure.
 */
#ifndef NTK_SHARED_METRICS_SPANS_H
#define NTK_SHARED_METRICS_SPANS_H

#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bits that show why a span was chosen. */
enum ntk_span_why {
    NTK_SPAN_FAILED = 1u << 0,
    NTK_SPAN_SLOW = 1u << 1,
    NTK_SPAN_PARENT = 1u << 2, /* the caller's trace is sampled */
    NTK_SPAN_EVERY = 1u << 3,
    NTK_SPAN_LOAD = 1u << 4, /* loads are rare, so each one is chosen */
};

/* Rules that choose spans. A zeroed struct chooses only loads. */
struct ntk_span_rules {
    bool failed;
    bool parent;
    uint64_t slow_ns; /* chooses spans of at least this duration; 0: no such rule */
    /* chooses the first and then every n-th span of a process and kind; 0: no such rule */
    uint64_t every;
};
#define NTK_SPAN_RULES_DEFAULT "failed,slow=1s,parent"

/* Parses "failed,slow=100ms,parent,every=1000" or a part of it; "" is the default. Returns -EINVAL
 * with a message. */
int ntk_span_rules_parse(const char *text, struct ntk_span_rules *out, struct ntk_err *err);
/* Known facts about a span. */
struct ntk_span_facts {
    bool is_load;
    bool has_failed;
    bool is_parent_sampled;
    uint64_t duration_ns;
};
/* Bits of enum ntk_span_why; 0 if no rule chooses the span. *seen counts the spans of its process
 * and kind. */
unsigned ntk_span_rules_match(const struct ntk_span_rules *rules,
                              const struct ntk_span_facts *facts, uint64_t *seen);

/* The caller's W3C traceparent, as big-endian numbers. */
struct ntk_span_parent {
    uint64_t trace_high, trace_low; /* both 0 if there is none */
    uint64_t span;
    uint8_t flags;
};
#define NTK_SPAN_FLAG_SAMPLED 0x01u

struct ntk_span {
    uint64_t start_ns; /* start time, since 1970 UTC */
    uint64_t duration_ns;
    uint16_t kind; /* enum ntk_event_kind: EXEC, MODEL_LOAD, COLLECTIVE */
    uint16_t why;
    uint16_t core;              /* global physical number, or NTK_NO_CORE */
    uint16_t queue;             /* EXEC: number of the caller's queue; 0: none */
    uint16_t operation;         /* COLLECTIVE: enum ntk_collective */
    struct ntk_process_key key; /* key of the runtime */
    uint32_t pid;               /* pid as in the runtime's sample */
    uint32_t tid;               /* 0 if unknown */
    uint32_t model_id;          /* 0 if none */
    uint32_t status;
    uint64_t number; /* EXEC: execution id; COLLECTIVE: sequence */
    /* EXEC: time on the core, 0 unknown; COLLECTIVE: time until the last rank arrived */
    uint64_t core_ns;
    uint64_t bytes;            /* MODEL_LOAD: device memory; COLLECTIVE: bytes of this rank */
    uint64_t comm_key;         /* COLLECTIVE: key as in the rank's sample; 0 unknown */
    uint32_t rank, rank_count; /* COLLECTIVE: position in the communicator; count 0: unknown */
    struct ntk_span_parent parent;
    const char *model_name; /* "" if unknown */
};

/* Maximum spans of one poll, and of a snapshot of several polls. One user may use three
 * quarters. */
#define NTK_SNAPSHOT_SPANS_MAX 8192u
#define NTK_SNAPSHOT_JOINED_SPANS_MAX 32768u

/* Copies the spans of both, older first, into the snapshot; adds those without room to its
 * spans_lost. */
void ntk_snapshot_join_spans(struct ntk_snapshot *snapshot, const struct ntk_snapshot *older,
                             const struct ntk_snapshot *newer);

#ifdef __cplusplus
}
#endif
#endif
