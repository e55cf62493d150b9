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

/* A signal of a device or, for STATUS and PROCESS, of one of its cores. */
struct sign {
    bool is_on;
    uint64_t since_ns;    /* realtime of the first sign */
    uint64_t last_ns;     /* realtime of the last sign */
    uint64_t last_bad_ns; /* monotonic time of the last bad reading */
    /* LEVEL: monotonic time since which all readings were good and none was missing; 0: none. */
    uint64_t good_since_ns;
    uint64_t count;  /* ECC: the counter; otherwise the number of executions */
    uint32_t status; /* PROCESS: the status */
    bool is_known;   /* the leaf could be read at least once */
    bool is_missing; /* the leaf cannot be read now */
    /* the leaf was missing for too long; stays set until it could be read for long enough */
    bool is_lost;
    uint64_t missing_since_ns; /* monotonic time since which it is missing */
    /* LOST: monotonic time since which it can be read again; 0: it cannot */
    uint64_t found_since_ns;
    uint64_t base; /* STATUS: the counter's earlier value */
};

struct core_state {
    struct sign signs[SIGNAL_COUNT];
    bool has_success, has_resets;
    uint64_t success, resets;
    uint64_t owned_ns;               /* monotonic time at which a process last owned it */
    uint64_t reported[SIGNAL_COUNT]; /* PROCESS: executions reported since the last work */
};

struct heart {
    bool is_known;
    bool has_beaten;
    bool is_still;
    uint64_t value;
    uint64_t beat_ns;    /* monotonic time of the last beat, or of the first check */
    uint64_t longest_ns; /* longest time between two beats; 0: fewer than two beats so far */
    uint64_t resumed_ns; /* monotonic time of the first beat after a stop; 0: none */
    uint64_t still_since_ns;
};

struct judged {
    bool is_on;
    struct ntk_health_sample sample; /* its detail is NULL; see `other` */
};

struct device_state {
    bool is_known; /* was read at least once */
    bool is_software;
    bool is_away;           /* missing from the tree */
    uint64_t away_since_ns; /* monotonic time since which it is missing */
    bool is_gone;           /* missing for too long */
    uint64_t gone_since_ns;
    uint64_t first_ns; /* monotonic time of the first reading */
    uint32_t evidence;
    struct sign signs[SIGNAL_COUNT];
    char other[NTK_DEVICE_TEXT_BYTES]; /* components that are not in the table */
    struct core_state cores[NTK_DEVICE_CORES_MAX];
    struct heart heart;
    uint64_t lost_since_ns; /* realtime since which a leaf is lost; 0: none is lost */
    uint64_t no_signal_ns;  /* realtime since which signals are missing; 0: not missing */
    struct judged reasons[NTK_HEALTH_REASON_COUNT];
    uint32_t stored_cores[NTK_HEALTH_REASON_COUNT]; /* cores of reasons that continue stored ones */
    uint32_t verdict;
    uint64_t verdict_since_ns;
};

struct ntk_health {
    struct device_state devices[NTK_DEVICES_MAX];
    uint32_t cores_per_device; /* cores per device in the last tree */
    bool has_changed;
};

/* The rows of NTK_HEALTH_SIGNAL. */
struct health_signal_row {
    enum origin origin;
    uint32_t status; /* STATUS: enum ntk_status_counter; PROCESS: enum ntk_result */
    const char *key; /* key of the other origins */
    enum ntk_health_reason reason;
    enum clears clears;
};
extern const struct health_signal_row ntk_health_signals[SIGNAL_COUNT];

/* ---- health_read ---- */

void ntk_health_raise_sign(struct sign *sign, struct ntk_health_time now);
bool ntk_health_is_past(uint64_t since_ns, uint64_t limit_ns, struct ntk_health_time now);
/* Clears WORK signs of this origin that are old enough; returns whether there were any. */
bool ntk_health_clear_work(struct core_state *core, enum origin origin, struct ntk_health_time now);

/* ---- health_judge ---- */

/* Starts afresh after a driver change: the shown verdict stays until the next reading is judged. */
void ntk_health_begin_anew(struct device_state *device);
void ntk_health_judge(struct ntk_health *health, struct device_state *device,
                      struct ntk_health_time now);

#endif
