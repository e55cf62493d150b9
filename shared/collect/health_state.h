/* SPDX-License-Identifier: MIT */
/*
 * health_state - shared by the files of health; no other file includes it.
 *
 * health_read.c turns readings into signs, health_judge.c turns signs into verdicts, health.c takes
 * reports and answers.
 *
 * Owner, threads: as struct ntk_health.
 */
#ifndef NTK_SHARED_COLLECT_HEALTH_STATE_H
#define NTK_SHARED_COLLECT_HEALTH_STATE_H

#include "shared/collect/health.h"

enum signal {
#define NTK_HEALTH_SIGNAL(symbol, ...) SIGNAL_##symbol,
#include "shared/metrics/health.def"
    SIGNAL_COUNT
};

enum origin { ORIGIN_ECC, ORIGIN_COMPONENT, ORIGIN_STATUS, ORIGIN_PROCESS, ORIGIN_DIAG };
enum clears { CLEARS_LEVEL, CLEARS_LATCH, CLEARS_WORK };

/* One signal of a device or, for STATUS and PROCESS, of one of its cores. */
struct sign {
    bool is_on;
    uint64_t since_ns;    /* realtime */
    uint64_t last_ns;     /* realtime */
    uint64_t last_bad_ns; /* monotonic */
    /* LEVEL: since then all readings were good and none was missing; 0 none */
    uint64_t good_since_ns;
    uint64_t count;            /* ECC: the counter; else the number of executions */
    uint32_t status;           /* PROCESS */
    bool is_known;             /* the leaf could be read at least once */
    bool is_missing;           /* ... and cannot be read now */
    bool is_lost;              /* ... for too long; stays until it could be read for long */
    uint64_t missing_since_ns; /* monotonic */
    uint64_t found_since_ns;   /* LOST: monotonic, since then it can be read again; 0 not */
    uint64_t base;             /* STATUS: the earlier value of the counter */
};

struct core_state {
    struct sign signs[SIGNAL_COUNT];
    bool has_success, has_resets;
    uint64_t success, resets;
    uint64_t owned_ns;               /* monotonic: a process last owned it */
    uint64_t reported[SIGNAL_COUNT]; /* by PROCESS: ends since the last work */
};

struct heart {
    bool is_known;
    bool has_beaten;
    bool is_still;
    uint64_t value;
    uint64_t beat_ns;    /* monotonic: the last beat, or the first check */
    uint64_t longest_ns; /* between two beats; 0: fewer than two so far */
    uint64_t resumed_ns; /* monotonic: first beat after a stop; 0 none */
    uint64_t still_since_ns;
};

struct judged {
    bool is_on;
    struct ntk_health_sample sample; /* detail: NULL; see other */
};

struct device_state {
    bool is_known; /* it was read */
    bool is_software;
    bool is_away;           /* the tree does not show it */
    uint64_t away_since_ns; /* monotonic */
    bool is_gone;           /* ... for too long */
    uint64_t gone_since_ns;
    uint64_t first_ns; /* monotonic: of the first reading */
    uint32_t evidence;
    struct sign signs[SIGNAL_COUNT];
    char other[NTK_DEVICE_TEXT_BYTES]; /* components that the table does not name */
    struct core_state cores[NTK_DEVICE_CORES_MAX];
    struct heart heart;
    uint64_t lost_since_ns; /* realtime; 0 if nothing is lost */
    uint64_t no_signal_ns;  /* realtime; 0 if there are some */
    struct judged reasons[NTK_HEALTH_REASON_COUNT];
    uint32_t stored_cores[NTK_HEALTH_REASON_COUNT]; /* of reasons that continue stored ones */
    uint32_t verdict;
    uint64_t verdict_since_ns;
};

struct ntk_health {
    struct device_state devices[NTK_DEVICES_MAX];
    uint32_t cores_per_device; /* of the last tree */
    bool has_changed;
};

/* The rows of NTK_HEALTH_SIGNAL. */
struct health_signal_row {
    enum origin origin;
    uint32_t status; /* STATUS: enum ntk_status_counter; PROCESS: enum ntk_result */
    const char *key; /* of the other origins */
    enum ntk_health_reason reason;
    enum clears clears;
};
extern const struct health_signal_row ntk_health_signals[SIGNAL_COUNT];

/* ---- health_read ---- */

void ntk_health_raise_sign(struct sign *sign, struct ntk_health_time now);
bool ntk_health_is_past(uint64_t since_ns, uint64_t limit_ns, struct ntk_health_time now);
/* Ends signs of WORK from this origin that are old enough; whether there were any. */
bool ntk_health_clear_work(struct core_state *core, enum origin origin, struct ntk_health_time now);

/* ---- health_judge ---- */

/* Another driver: the shown verdict stays until the next reading is judged. */
void ntk_health_begin_anew(struct device_state *device);
void ntk_health_judge(struct ntk_health *health, struct device_state *device,
                      struct ntk_health_time now);

#endif
