/* SPDX-License-Identifier: MIT */
/* health - signs, reasons and verdicts of all devices. */
#include "shared/collect/health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"

enum signal {
#define NTK_HEALTH_SIGNAL(symbol, ...) SIGNAL_##symbol,
#include "shared/metrics/health.def"
    SIGNAL_COUNT
};

enum origin { ORIGIN_ECC, ORIGIN_COMPONENT, ORIGIN_STATUS, ORIGIN_PROCESS };
enum clears { CLEARS_LEVEL, CLEARS_LATCH, CLEARS_WORK };

static const struct {
    enum origin origin;
    const char *key;
    enum ntk_health_reason reason;
    enum clears clears;
} signals[SIGNAL_COUNT] = {
#define NTK_HEALTH_SIGNAL(symbol, origin, key, reason, clears) \
    { ORIGIN_##origin, key, NTK_HEALTH_REASON_##reason, CLEARS_##clears },
#include "shared/metrics/health.def"
};

/* Words of a device that an error counted elsewhere explains better. */
static const struct {
    enum ntk_health_reason reason;
    enum ntk_health_reason by[2];
} explained[] = {
    { NTK_HEALTH_REASON_HBM_UNHEALTHY,
      { NTK_HEALTH_REASON_HBM_UNCORRECTABLE, NTK_HEALTH_REASON_HBM_REPAIRABLE } },
    { NTK_HEALTH_REASON_SRAM_UNHEALTHY,
      { NTK_HEALTH_REASON_SRAM_UNCORRECTABLE, NTK_HEALTH_REASON_SRAM_UNCORRECTABLE } },
    { NTK_HEALTH_REASON_EXECUTION_TIMEOUT,
      { NTK_HEALTH_REASON_HARDWARE_ERROR, NTK_HEALTH_REASON_HARDWARE_ERROR } },
    { NTK_HEALTH_REASON_CORE_DEAD,
      { NTK_HEALTH_REASON_HARDWARE_ERROR, NTK_HEALTH_REASON_EXECUTION_TIMEOUT } },
};

/* One signal of a device or, of STATUS and PROCESS, of one of its cores. */
struct sign {
    bool is_on;
    uint64_t since_ns;         /* realtime */
    uint64_t last_ns;          /* realtime */
    uint64_t last_bad_ns;      /* monotonic */
    uint64_t good_since_ns;    /* LEVEL: of readings without a bad or missing one between; 0 none */
    uint64_t count;            /* ECC: the counter; else of executions */
    uint32_t nrt_status;       /* PROCESS */
    bool is_known;             /* the leaf could be read, once */
    bool is_missing;           /* ... and cannot be now, */
    uint64_t missing_since_ns; /* ... since, monotonic */
    uint64_t base;             /* STATUS: what the counter was */
};

struct core_state {
    struct sign signs[SIGNAL_COUNT];
    bool has_success, has_resets;
    uint64_t success, resets;
    uint64_t owned_ns;           /* monotonic: when a process had it last */
    uint64_t told[SIGNAL_COUNT]; /* of PROCESS: ends since the last work */
};

struct heart {
    bool is_known;
    bool has_beaten;
    bool is_still;
    uint64_t value;
    uint64_t beat_ns;    /* monotonic: the last one, or when it was first looked at */
    uint64_t longest_ns; /* between two beats */
    uint64_t still_since_ns;
};

struct judged {
    bool is_on;
    struct ntk_health_sample sample; /* detail: NULL; see other */
};

struct device_state {
    bool is_known; /* it was read */
    bool is_software;
    bool is_gone;
    uint64_t gone_since_ns;
    uint32_t evidence;
    struct sign signs[SIGNAL_COUNT];
    char other[NTK_DEVICE_TEXT_BYTES]; /* components that the table does not name */
    struct core_state cores[NTK_DEVICE_CORES_MAX];
    struct heart heart;
    uint64_t lost_since_ns; /* realtime; 0 nothing is lost */
    uint64_t no_signal_ns;  /* realtime; 0 there are some */
    struct judged reasons[NTK_HEALTH_REASON_COUNT];
    uint32_t verdict;
    uint64_t verdict_since_ns;
};

struct ntk_health {
    struct device_state devices[NTK_DEVICES_MAX];
    uint32_t cores_per_device; /* of the last tree */
    bool has_changed;
};

struct ntk_health *ntk_health_create(void)
{
    return calloc(1, sizeof(struct ntk_health));
}

void ntk_health_destroy(struct ntk_health *health)
{
    free(health);
}

/* ---- signs ---- */

static void raise_sign(struct sign *sign, struct ntk_health_time now)
{
    if (!sign->is_on) {
        sign->is_on = true;
        sign->since_ns = now.realtime_ns;
        sign->count = 0;
    }
    sign->last_ns = now.realtime_ns;
    sign->last_bad_ns = now.monotonic_ns;
    sign->good_since_ns = 0;
}

static bool is_past(uint64_t since_ns, uint64_t limit_ns, struct ntk_health_time now)
{
    return now.monotonic_ns >= since_ns && now.monotonic_ns - since_ns >= limit_ns;
}

static void clear_sign(struct sign *sign)
{
    sign->is_on = false;
    sign->good_since_ns = 0;
    sign->nrt_status = 0;
}

static void miss_sign(struct sign *sign, struct ntk_health_time now)
{
    sign->good_since_ns = 0;
    if (sign->is_known && !sign->is_missing) {
        sign->is_missing = true;
        sign->missing_since_ns = now.monotonic_ns;
    }
}

static void find_sign(struct sign *sign)
{
    sign->is_known = true;
    sign->is_missing = false;
}

/* A LEVEL sign whose leaf was read. is_more: the fault came again. */
static void set_level(struct sign *sign, bool is_bad, bool is_more, struct ntk_health_time now)
{
    find_sign(sign);
    if (is_bad) {
        uint64_t last_ns = sign->last_ns;
        bool was_on = sign->is_on;

        raise_sign(sign, now);
        sign->last_ns = was_on && !is_more ? last_ns : sign->last_ns;
    } else if (sign->is_on) {
        /* The clock may stand at 0 in a test only: 0 is none. */
        sign->good_since_ns = sign->good_since_ns ? sign->good_since_ns : now.monotonic_ns;
        if (is_past(sign->good_since_ns, NTK_HEALTH_HOLD_NS, now)) {
            clear_sign(sign);
        }
    }
}

/* A reset, or another driver: what is latched is over. */
static void clear_cores(struct device_state *device)
{
    for (size_t c = 0; c < NTK_DEVICE_CORES_MAX; c++) {
        for (size_t s = 0; s < SIGNAL_COUNT; s++) {
            clear_sign(&device->cores[c].signs[s]);
        }
    }
}

static void clear_work(struct core_state *core, enum origin origin, struct ntk_health_time now)
{
    for (size_t s = 0; s < SIGNAL_COUNT; s++) {
        struct sign *sign = &core->signs[s];

        if (sign->is_on && signals[s].origin == origin && signals[s].clears == CLEARS_WORK &&
            is_past(sign->last_bad_ns, NTK_HEALTH_HOLD_NS, now)) {
            clear_sign(sign);
        }
    }
}

/* ---- readings ---- */

static const struct ntk_device_value *ecc_value(const struct ntk_device_reading *reading,
                                                enum signal signal)
{
    return signal == SIGNAL_HBM          ? &reading->mem_ecc_uncorrected
           : signal == SIGNAL_REPAIRABLE ? &reading->mem_ecc_repairable_uncorrected
                                         : &reading->sram_ecc_uncorrected;
}

static void read_ecc(struct device_state *device, const struct ntk_device_reading *reading,
                     struct ntk_health_time now)
{
    for (size_t s = SIGNAL_HBM; s <= SIGNAL_SRAM; s++) {
        const struct ntk_device_value *value = ecc_value(reading, (enum signal)s);
        struct sign *sign = &device->signs[s];

        if (!value->present) {
            miss_sign(sign, now);
            continue;
        }
        set_level(sign, value->value > 0, value->value > sign->count, now);
        if (sign->is_on && value->value > 0) {
            sign->count = value->value;
        }
        device->evidence |= 1u << NTK_HEALTH_BY_ECC;
    }
}

static void read_components(struct device_state *device, const struct ntk_device_reading *reading,
                            struct ntk_health_time now)
{
    char text[sizeof reading->unhealthy_components];
    bool listed[SIGNAL_COUNT] = { 0 };
    char other[sizeof device->other] = "";
    char *rest = text;
    char *word;

    if (!reading->has_unhealthy_components) {
        for (size_t s = 0; s < SIGNAL_COUNT; s++) {
            if (signals[s].origin == ORIGIN_COMPONENT) {
                miss_sign(&device->signs[s], now);
            }
        }
        return;
    }
    memcpy(text, reading->unhealthy_components, sizeof text);
    while ((word = strsep(&rest, ","))) {
        size_t signal = SIGNAL_C_OTHER;

        word += strspn(word, " \t");
        word[strcspn(word, " \t")] = '\0';
        if (!word[0]) {
            continue;
        }
        for (size_t s = 0; s < SIGNAL_COUNT; s++) {
            if (signals[s].origin == ORIGIN_COMPONENT && strcmp(signals[s].key, word) == 0) {
                signal = s;
            }
        }
        listed[signal] = true;
        if (signal == SIGNAL_C_OTHER) {
            size_t used = strlen(other);
            ntk_str_copy(other + used, sizeof other - used, used > 0 ? "," : "");
            used = strlen(other);
            ntk_str_copy(other + used, sizeof other - used, word);
        }
    }
    for (size_t s = 0; s < SIGNAL_COUNT; s++) {
        if (signals[s].origin == ORIGIN_COMPONENT) {
            set_level(&device->signs[s], listed[s], device->signs[s].good_since_ns > 0, now);
        }
    }
    if (listed[SIGNAL_C_OTHER]) {
        memcpy(device->other, other, sizeof other);
    }
    device->evidence |= 1u << NTK_HEALTH_BY_COMPONENTS;
}

static void start_heart(struct heart *heart, uint64_t value, struct ntk_health_time now)
{
    *heart = (struct heart){ .is_known = true, .value = value, .beat_ns = now.monotonic_ns };
}

/* False when it went back: the driver is another one. */
static bool read_heart(struct device_state *device, const struct ntk_device_value *value,
                       bool beats, struct ntk_health_time now)
{
    struct heart *heart = &device->heart;
    uint64_t limit_ns;

    if (!value->present) {
        return true;
    }
    device->evidence |= 1u << NTK_HEALTH_BY_HEARTBEAT;
    if (!heart->is_known || value->value < heart->value) {
        bool goes_back = heart->is_known;

        start_heart(heart, value->value, now);
        return !goes_back;
    }
    if (value->value != heart->value) {
        uint64_t between_ns = now.monotonic_ns - heart->beat_ns;

        /* One that stood still says nothing of how often it beats. */
        if (heart->has_beaten && !heart->is_still && between_ns > heart->longest_ns) {
            heart->longest_ns = between_ns;
        }
        heart->has_beaten = true;
        heart->is_still = false;
        heart->value = value->value;
        heart->beat_ns = now.monotonic_ns;
        return true;
    }
    if (!beats) { /* nobody is there to beat it: time does not count */
        heart->beat_ns = now.monotonic_ns;
        heart->is_still = false;
        return true;
    }
    limit_ns = !heart->has_beaten                            ? NTK_HEALTH_NEVER_NS
               : heart->longest_ns * 5 > NTK_HEALTH_STILL_NS ? heart->longest_ns * 5
                                                             : NTK_HEALTH_STILL_NS;
    if (!heart->is_still && is_past(heart->beat_ns, limit_ns, now)) {
        heart->is_still = true;
        heart->still_since_ns = now.realtime_ns;
    }
    return true;
}

static enum ntk_status_counter status_of(enum signal signal)
{
    switch (signal) {
    case SIGNAL_S_COLLECTIVES:
        return NTK_STATUS_HW_COLLECTIVES;
    case SIGNAL_S_HBM:
        return NTK_STATUS_HW_HBM_UE;
    case SIGNAL_S_SRAM:
        return NTK_STATUS_HW_NC_UE;
    case SIGNAL_S_DMA:
        return NTK_STATUS_HW_DMA_ABORT;
    case SIGNAL_S_OVERFLOW:
        return NTK_STATUS_SW_NQ_OVERFLOW;
    default:
        return NTK_STATUS_HW_REPAIRABLE_HBM_UE;
    }
}

static void read_status(struct device_state *device, struct core_state *core,
                        const struct ntk_device_core_reading *reading, bool counts_from_zero,
                        struct ntk_health_time now)
{
    const struct ntk_device_value *success = &reading->status[NTK_STATUS_SUCCESS];
    bool is_worse = false;

    for (size_t s = 0; s < SIGNAL_COUNT; s++) {
        const struct ntk_device_value *value;
        struct sign *sign = &core->signs[s];

        if (signals[s].origin != ORIGIN_STATUS) {
            continue;
        }
        value = &reading->status[status_of((enum signal)s)];
        if (!value->present) {
            miss_sign(sign, now);
            continue;
        }
        device->evidence |= 1u << NTK_HEALTH_BY_STATUS;
        if (!sign->is_known) {
            sign->base = counts_from_zero ? 0 : value->value;
        }
        find_sign(sign);
        if (value->value > sign->base) {
            raise_sign(sign, now);
            sign->count += value->value - sign->base;
            is_worse = true;
        } else if (value->value < sign->base) {
            clear_sign(sign); /* cleared by hand */
        }
        sign->base = value->value;
    }
    if (success->present) {
        if (core->has_success && success->value > core->success && !is_worse) {
            clear_work(core, ORIGIN_STATUS, now);
        }
        core->has_success = true;
        core->success = success->value;
    }
}

static bool was_reset(struct core_state *core, const struct ntk_device_value *resets)
{
    bool reset = resets->present && core->has_resets && resets->value > core->resets;

    if (resets->present) {
        core->has_resets = true;
        core->resets = resets->value;
    }
    return reset;
}

/* ---- the verdict ---- */

static void add_reason(struct judged *reasons, enum ntk_health_reason reason,
                       const struct ntk_health_sample *sample)
{
    struct judged *judged = &reasons[reason];
    struct ntk_health_sample *into = &judged->sample;

    if (!judged->is_on) {
        judged->is_on = true;
        *into = *sample;
        into->reason = (uint16_t)reason;
        return;
    }
    into->since_ns = sample->since_ns < into->since_ns ? sample->since_ns : into->since_ns;
    into->last_ns = sample->last_ns > into->last_ns ? sample->last_ns : into->last_ns;
    if (into->core != NTK_NO_CORE && sample->core != NTK_NO_CORE) {
        into->count += sample->count; /* of another core */
    }
    into->nrt_status = into->nrt_status ? into->nrt_status : sample->nrt_status;
}

static void add_sign(struct judged *reasons, enum signal signal, const struct sign *sign,
                     uint16_t core)
{
    const struct ntk_health_sample sample = { .core = core,
                                              .nrt_status = sign->nrt_status,
                                              .since_ns = sign->since_ns,
                                              .last_ns = sign->last_ns,
                                              .count = sign->count };

    if (sign->is_on) {
        add_reason(reasons, signals[signal].reason, &sample);
    }
}

static void add_state(struct judged *reasons, enum ntk_health_reason reason, uint64_t since_ns)
{
    const struct ntk_health_sample sample = { .core = NTK_NO_CORE,
                                              .since_ns = since_ns,
                                              .last_ns = since_ns };

    add_reason(reasons, reason, &sample);
}

/* Whether some leaf is missing for too long; a sign that is on by another leaf stays on. */
static bool is_lost(const struct device_state *device, struct ntk_health_time now)
{
    for (size_t s = 0; s < SIGNAL_COUNT; s++) {
        const struct sign *sign = &device->signs[s];

        if (sign->is_missing && is_past(sign->missing_since_ns, NTK_HEALTH_LOST_NS, now)) {
            return true;
        }
    }
    for (size_t c = 0; c < NTK_DEVICE_CORES_MAX; c++) {
        for (size_t s = 0; s < SIGNAL_COUNT; s++) {
            const struct sign *sign = &device->cores[c].signs[s];

            if (sign->is_missing && is_past(sign->missing_since_ns, NTK_HEALTH_LOST_NS, now)) {
                return true;
            }
        }
    }
    return false;
}

static void find_reasons(struct device_state *device, struct judged *reasons,
                         struct ntk_health_time now)
{
    bool has_signals = device->evidence & ~(1u << NTK_HEALTH_BY_HEARTBEAT);

    for (size_t s = 0; s < SIGNAL_COUNT; s++) {
        add_sign(reasons, (enum signal)s, &device->signs[s], NTK_NO_CORE);
        for (uint16_t c = 0; c < NTK_DEVICE_CORES_MAX; c++) {
            add_sign(reasons, (enum signal)s, &device->cores[c].signs[s], c);
        }
    }
    for (size_t i = 0; i < sizeof explained / sizeof *explained; i++) {
        if (reasons[explained[i].by[0]].is_on || reasons[explained[i].by[1]].is_on) {
            reasons[explained[i].reason].is_on = false;
        }
    }
    if (device->is_gone) {
        add_state(reasons, NTK_HEALTH_REASON_TREE_GONE, device->gone_since_ns);
        return;
    }
    if (device->heart.is_still) {
        add_state(reasons, NTK_HEALTH_REASON_HEARTBEAT_STILL, device->heart.still_since_ns);
    }
    device->lost_since_ns = !is_lost(device, now)   ? 0
                            : device->lost_since_ns ? device->lost_since_ns
                                                    : now.realtime_ns;
    if (device->lost_since_ns) {
        add_state(reasons, NTK_HEALTH_REASON_SIGNAL_LOST, device->lost_since_ns);
    }
    device->no_signal_ns = has_signals            ? 0
                           : device->no_signal_ns ? device->no_signal_ns
                                                  : now.realtime_ns;
    if (!has_signals) {
        add_state(reasons, NTK_HEALTH_REASON_NO_SIGNALS, device->no_signal_ns);
    }
}

static void judge(struct ntk_health *health, struct device_state *device,
                  struct ntk_health_time now)
{
    struct judged reasons[NTK_HEALTH_REASON_COUNT] = { 0 };
    uint32_t verdict = NTK_HEALTH_HEALTHY;
    bool changed = false;

    find_reasons(device, reasons, now);
    for (size_t r = 0; r < NTK_HEALTH_REASON_COUNT; r++) {
        if (reasons[r].is_on && ntk_health_reasons[r].verdict > verdict) {
            verdict = ntk_health_reasons[r].verdict;
        }
        changed = changed || reasons[r].is_on != device->reasons[r].is_on;
    }
    if (device->verdict_since_ns == 0 || device->verdict != verdict) {
        changed = changed || device->verdict_since_ns != 0;
        device->verdict = verdict;
        device->verdict_since_ns = now.realtime_ns;
    }
    memcpy(device->reasons, reasons, sizeof reasons);
    health->has_changed = health->has_changed || changed;
}

/* ---- what others tell ---- */

static void begin_anew(struct device_state *device)
{
    uint32_t verdict = device->verdict;
    uint64_t since_ns = device->verdict_since_ns;
    bool was_judged = device->is_known;
    struct judged reasons[NTK_HEALTH_REASON_COUNT];

    memcpy(reasons, device->reasons, sizeof reasons);
    memset(device, 0, sizeof *device);
    if (was_judged) { /* what was shown stays so until the next reading is judged */
        device->verdict = verdict;
        device->verdict_since_ns = since_ns;
        memcpy(device->reasons, reasons, sizeof reasons);
    }
}

void ntk_health_tree(struct ntk_health *health, const struct ntk_device_tree *tree, bool is_new,
                     struct ntk_health_time now)
{
    bool there[NTK_DEVICES_MAX] = { 0 };

    health->cores_per_device =
        tree->device_count > 0 ? tree->cores_per_device : health->cores_per_device;
    for (size_t i = 0; i < tree->device_count; i++) {
        if (tree->devices[i].index < NTK_DEVICES_MAX) {
            there[tree->devices[i].index] = true;
        }
    }
    for (size_t i = 0; i < NTK_DEVICES_MAX; i++) {
        struct device_state *device = &health->devices[i];

        if (there[i]) {
            if (is_new || device->is_gone) {
                begin_anew(device);
            }
        } else if (device->is_known && device->is_software) {
            memset(device, 0, sizeof *device);
        } else if (device->is_known && !device->is_gone) {
            device->is_gone = true;
            device->gone_since_ns = now.realtime_ns;
            judge(health, device, now);
        }
        device->is_software =
            there[i] ? tree->origin == NTK_DEVICE_ORIGIN_SOFTWARE : device->is_software;
    }
}

void ntk_health_reading(struct ntk_health *health, const struct ntk_device_reading *reading,
                        unsigned int read, bool counts_from_zero, bool beats,
                        struct ntk_health_time now)
{
    struct device_state *device;
    bool reset = false;

    if (reading->index >= NTK_DEVICES_MAX) {
        return;
    }
    device = &health->devices[reading->index];
    if (read & (NTK_DEVICE_READ_HEALTH | NTK_DEVICE_READ_DEVICE)) {
        if (!read_heart(device, &reading->heartbeat, beats, now)) {
            struct heart heart = device->heart;
            bool is_software = device->is_software;

            begin_anew(device);
            device->heart = heart;
            device->is_software = is_software;
        }
        read_ecc(device, reading, now);
        read_components(device, reading, now);
    }
    device->is_known = true;
    for (size_t c = 0; c < NTK_DEVICE_CORES_MAX && read & NTK_DEVICE_READ_FAULTS; c++) {
        reset = was_reset(&device->cores[c], &reading->cores[c].reset_requests) || reset;
    }
    if (reset) {
        clear_cores(device);
    }
    for (size_t c = 0; c < NTK_DEVICE_CORES_MAX && read & NTK_DEVICE_READ_FAULTS; c++) {
        read_status(device, &device->cores[c], &reading->cores[c], counts_from_zero, now);
    }
    judge(health, device, now);
}

static struct core_state *core_of(struct ntk_health *health, uint32_t device, uint32_t local_core)
{
    return device < NTK_DEVICES_MAX && local_core < NTK_DEVICE_CORES_MAX
               ? &health->devices[device].cores[local_core]
               : NULL;
}

static int signal_of_status(uint32_t nrt_status)
{
    char key[16];

    if (ntk_error_class_of_status(nrt_status) == NTK_ERROR_HARDWARE) {
        return SIGNAL_P_HARDWARE;
    }
    snprintf(key, sizeof key, "%u", (unsigned)nrt_status);
    for (int s = 0; s < SIGNAL_COUNT; s++) {
        if (signals[s].origin == ORIGIN_PROCESS && strcmp(signals[s].key, key) == 0) {
            return s;
        }
    }
    return -1;
}

static void raise_execution(struct core_state *core, int signal, uint32_t nrt_status,
                            uint64_t count, struct ntk_health_time now)
{
    struct sign *sign = &core->signs[signal];

    raise_sign(sign, now);
    sign->count += count;
    sign->nrt_status = nrt_status ? nrt_status : sign->nrt_status;
    core->owned_ns = now.monotonic_ns;
}

void ntk_health_execution(struct ntk_health *health, uint32_t device, uint32_t local_core,
                          uint32_t nrt_status, struct ntk_health_time now)
{
    struct core_state *core = core_of(health, device, local_core);
    int signal = signal_of_status(nrt_status);

    if (!core || signal < 0) {
        return;
    }
    raise_execution(core, signal, nrt_status, 1, now);
    core->told[signal]++;
    health->devices[device].evidence |= 1u << NTK_HEALTH_BY_PROCESSES;
    judge(health, &health->devices[device], now);
}

void ntk_health_work(struct ntk_health *health, uint32_t device, uint32_t local_core,
                     const struct ntk_health_work *work, struct ntk_health_time now)
{
    const struct {
        int signal;
        uint64_t count;
        uint32_t nrt_status;
    } ends[] = { { SIGNAL_P_HARDWARE, work->hardware_errors, 0 },
                 { SIGNAL_P_TIMEOUT, work->timeouts, 5 } };
    struct core_state *core = core_of(health, device, local_core);
    bool is_worse = false;

    if (!core) {
        return;
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        uint64_t told = core->told[ends[i].signal];

        if (ends[i].count > told) {
            raise_execution(core, ends[i].signal, ends[i].nrt_status, ends[i].count - told, now);
        }
        is_worse = is_worse || ends[i].count > 0;
    }
    memset(core->told, 0, sizeof core->told);
    if (work->is_owned) {
        core->owned_ns = now.monotonic_ns;
        health->devices[device].evidence |= 1u << NTK_HEALTH_BY_PROCESSES;
    }
    if ((work->completed > 0 && !is_worse) ||
        (!work->is_owned && is_past(core->owned_ns, NTK_HEALTH_HOLD_NS, now))) {
        clear_work(core, ORIGIN_PROCESS, now);
    }
    if (health->devices[device].is_known) {
        judge(health, &health->devices[device], now);
    }
}

/* ---- the answer ---- */

/* The worst verdict first, then the greatest action, then in the order of the table. */
static int compare_reasons(const void *a, const void *b)
{
    const struct ntk_health_sample *x = a;
    const struct ntk_health_sample *y = b;
    const struct ntk_health_reason_row *row = &ntk_health_reasons[x->reason];
    const struct ntk_health_reason_row *other = &ntk_health_reasons[y->reason];

    if (row->verdict != other->verdict) {
        return row->verdict > other->verdict ? -1 : 1;
    }
    if (row->action != other->action) {
        return row->action > other->action ? -1 : 1;
    }
    return (int)x->reason - (int)y->reason;
}

void ntk_health_fill(struct ntk_health *health, struct ntk_snapshot *snapshot,
                     struct ntk_device_sample *out)
{
    const struct device_state *device;
    struct ntk_health_sample *samples;
    size_t count = 0;

    if (out->index >= NTK_DEVICES_MAX || !health->devices[out->index].verdict_since_ns) {
        return;
    }
    device = &health->devices[out->index];
    samples = ntk_snapshot_alloc(snapshot, NTK_HEALTH_REASON_COUNT, sizeof *samples);
    if (!samples) {
        return;
    }
    for (size_t r = 0; r < NTK_HEALTH_REASON_COUNT; r++) {
        if (!device->reasons[r].is_on) {
            continue;
        }
        samples[count] = device->reasons[r].sample;
        if (samples[count].core != NTK_NO_CORE) {
            samples[count].core =
                (uint16_t)(samples[count].core + out->index * health->cores_per_device);
        }
        samples[count].detail = r == NTK_HEALTH_REASON_COMPONENT_OTHER
                                    ? ntk_snapshot_text(snapshot, device->other)
                                    : "";
        count++;
    }
    qsort(samples, count, sizeof *samples, compare_reasons);
    out->has |= NTK_DEVICE_HAS_HEALTH;
    out->verdict = device->verdict;
    out->verdict_since_ns = device->verdict_since_ns;
    out->health_evidence = device->evidence;
    out->health = samples;
    out->health_count = count;
}

size_t ntk_health_gone(const struct ntk_health *health, uint32_t indices[NTK_DEVICES_MAX])
{
    size_t count = 0;

    for (uint32_t i = 0; i < NTK_DEVICES_MAX; i++) {
        if (health->devices[i].is_gone) {
            indices[count++] = i;
        }
    }
    return count;
}

bool ntk_health_take_change(struct ntk_health *health)
{
    bool changed = health->has_changed;

    health->has_changed = false;
    return changed;
}
