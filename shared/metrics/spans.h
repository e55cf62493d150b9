/* SPDX-License-Identifier: MIT */
/*
 * spans - single executions, loads and collectives in a snapshot, chosen by rules, for exporters of
 * traces.
 *
 * Owner:   the snapshot. Threads: as the snapshot; the functions are pure.
 */
#ifndef NTK_SHARED_METRICS_SPANS_H
#define NTK_SHARED_METRICS_SPANS_H

#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why a span was chosen; bits. */
enum ntk_span_why {
    NTK_SPAN_FAILED = 1u << 0,
    NTK_SPAN_SLOW = 1u << 1,
    NTK_SPAN_PARENT = 1u << 2, /* the caller's trace is sampled */
    NTK_SPAN_EVERY = 1u << 3,
    NTK_SPAN_LOAD = 1u << 4, /* loads are few: each of them */
};

/* Which spans are wanted. Zeroed: only loads. */
struct ntk_span_rules {
    bool failed;
    bool parent;
    uint64_t slow_ns; /* this long or longer; 0: no such rule */
    uint64_t every;   /* the first and then every n-th of a process and kind; 0: no such rule */
};
#define NTK_SPAN_RULES_DEFAULT "failed,slow=1s,parent"

/* "failed,slow=100ms,parent,every=1000": any of them, separated by commas; "": the default.
 * -EINVAL with a message. */
int ntk_span_rules_parse(const char *text, struct ntk_span_rules *out, struct ntk_err *err);
/* What is known of a span. */
struct ntk_span_facts {
    bool is_load;
    bool has_failed;
    bool is_parent_sampled;
    uint64_t duration_ns;
};
/* Bits of enum ntk_span_why; 0: not wanted. *seen counts the spans of its process and kind. */
unsigned ntk_span_rules_match(const struct ntk_span_rules *rules,
                              const struct ntk_span_facts *facts, uint64_t *seen);

/* The W3C traceparent of the caller, as big-endian numbers. */
struct ntk_span_parent {
    uint64_t trace_high, trace_low; /* both 0: none */
    uint64_t span;
    uint8_t flags;
};
#define NTK_SPAN_FLAG_SAMPLED 0x01u

struct ntk_span {
    uint64_t start_ns; /* since 1970 UTC */
    uint64_t duration_ns;
    uint16_t kind; /* enum ntk_event_kind: EXEC, MODEL_LOAD, COLLECTIVE */
    uint16_t why;
    uint16_t core;              /* global physical, NTK_NO_CORE */
    uint16_t queue;             /* EXEC: number of the caller's queue, 0 none */
    uint16_t operation;         /* COLLECTIVE: enum ntk_collective */
    struct ntk_process_key key; /* of the runtime */
    uint32_t pid;               /* as in its sample */
    uint32_t tid;               /* 0 unknown */
    uint32_t model_id;          /* 0 none */
    uint32_t status;
    uint64_t number;   /* EXEC: execution id; COLLECTIVE: sequence */
    uint64_t core_ns;  /* EXEC: on the core, 0 unknown; COLLECTIVE: until the last rank arrived */
    uint64_t bytes;    /* MODEL_LOAD: of device memory; COLLECTIVE: of this rank */
    uint64_t comm_key; /* COLLECTIVE: as in the rank's sample; 0 unknown */
    uint32_t rank, rank_count; /* COLLECTIVE: in the communicator; count 0: unknown */
    struct ntk_span_parent parent;
    const char *model_name; /* "" unknown */
};

/* Of one poll, and of a snapshot of several. One user may fill three quarters. */
#define NTK_SNAPSHOT_SPANS_MAX 8192u
#define NTK_SNAPSHOT_JOINED_SPANS_MAX 32768u

/* Copies those of both, older first, into the snapshot; adds those without room to its
 * spans_lost. */
void ntk_snapshot_join_spans(struct ntk_snapshot *snapshot, const struct ntk_snapshot *older,
                             const struct ntk_snapshot *newer);

#ifdef __cplusplus
}
#endif
#endif
