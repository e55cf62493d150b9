/* SPDX-License-Identifier: MIT */
/* health_read - turns readings of the device tree into signs, which appear and disappear. */
#include <string.h>

#include "shared/base/str.h"
#include "shared/abi/result.h"
#include "shared/collect/health_state.h"

#define KEY_ECC(text) 0, text
#define KEY_COMPONENT(text) 0, text
#define KEY_DIAG(text) 0, text
#define KEY_STATUS(symbol) NTK_STATUS_##symbol, NULL
#define KEY_PROCESS(symbol) NTK_RESULT_##symbol, NULL

const struct health_signal_row ntk_health_signals[SIGNAL_COUNT] = {
#define NTK_HEALTH_SIGNAL(symbol, origin, key, reason, clears) \
    { ORIGIN_##origin, KEY_##origin(key), NTK_HEALTH_REASON_##reason, CLEARS_##clears },
#include "shared/metrics/health.def"
};

/* ---- health signs ---- */

void ntk_health_raise_sign(struct sign *sign, struct ntk_health_time now)
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

bool ntk_health_is_past(uint64_t since_ns, uint64_t limit_ns, struct ntk_health_time now)
{
    return now.monotonic_ns >= since_ns && now.monotonic_ns - since_ns >= limit_ns;
}

static void clear_sign(struct sign *sign)
{
    sign->is_on = false;
    sign->good_since_ns = 0;
    sign->status = 0;
}

static void miss_sign(struct sign *sign, struct ntk_health_time now)
{
    sign->good_since_ns = 0;
    sign->found_since_ns = 0;
    if (sign->is_known && !sign->is_missing) {
        sign->is_missing = true;
        sign->missing_since_ns = now.monotonic_ns;
    }
    sign->is_lost =
        sign->is_lost ||
        (sign->is_missing && ntk_health_is_past(sign->missing_since_ns, NTK_HEALTH_LOST_NS, now));
}

static void find_sign(struct sign *sign, struct ntk_health_time now)
{
    sign->is_known = true;
    sign->is_missing = false;
    if (sign->is_lost) {
        sign->found_since_ns = sign->found_since_ns ? sign->found_since_ns : now.monotonic_ns;
        sign->is_lost = !ntk_health_is_past(sign->found_since_ns, NTK_HEALTH_HOLD_NS, now);
    }
    if (!sign->is_lost) {
        sign->found_since_ns = 0;
    }
}

/* Updates a LEVEL sign from a leaf that was read. is_more: the fault occurred again. */
static void set_level(struct sign *sign, bool is_bad, bool is_more, struct ntk_health_time now)
{
    find_sign(sign, now);
    if (is_bad) {
        uint64_t last_ns = sign->last_ns;
        bool was_on = sign->is_on;

        ntk_health_raise_sign(sign, now);
        sign->last_ns = was_on && !is_more ? last_ns : sign->last_ns;
    } else if (sign->is_on) {
        /* The clock can only be 0 in a test, and 0 means none. */
        sign->good_since_ns = sign->good_since_ns ? sign->good_since_ns : now.monotonic_ns;
        if (ntk_health_is_past(sign->good_since_ns, NTK_HEALTH_HOLD_NS, now)) {
            clear_sign(sign);
        }
    }
}

/* Clears latched signs after a reset or a driver change. */
static void clear_cores(struct device_state *device)
{
    for (size_t c = 0; c < NTK_DEVICE_CORES_MAX; c++) {
        for (size_t s = 0; s < SIGNAL_COUNT; s++) {
            clear_sign(&device->cores[c].signs[s]);
        }
    }
}

bool ntk_health_clear_work(struct core_state *core, enum origin origin, struct ntk_health_time now)
{
    bool has_cleared = false;

    for (size_t s = 0; s < SIGNAL_COUNT; s++) {
        struct sign *sign = &core->signs[s];

        if (sign->is_on && ntk_health_signals[s].origin == origin &&
            ntk_health_signals[s].clears == CLEARS_WORK &&
            ntk_health_is_past(sign->last_bad_ns, NTK_HEALTH_HOLD_NS, now)) {
            clear_sign(sign);
            has_cleared = true;
        }
    }
    return has_cleared;
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
            if (ntk_health_signals[s].origin == ORIGIN_COMPONENT) {
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
            if (ntk_health_signals[s].origin == ORIGIN_COMPONENT &&
                strcmp(ntk_health_signals[s].key, word) == 0) {
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
        if (ntk_health_signals[s].origin == ORIGIN_COMPONENT) {
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

/* The maximum applies while the rate is unknown. */
static uint64_t heart_limit_ns(const struct heart *heart)
{
    uint64_t limit_ns = heart->longest_ns * 5;

    return heart->longest_ns == 0 || limit_ns > NTK_HEALTH_NEVER_NS ? NTK_HEALTH_NEVER_NS
           : limit_ns < NTK_HEALTH_STILL_NS                         ? NTK_HEALTH_STILL_NS
                                                                    : limit_ns;
}

static void take_beat(struct heart *heart, uint64_t value, struct ntk_health_time now)
{
    uint64_t between_ns = now.monotonic_ns - heart->beat_ns;
    /* The time before the first beat and the time without beats do not count towards the rate. The
     * limit adapts to a slower heartbeat when later beats arrive. */
    bool is_pace = heart->has_beaten && (!heart->is_still || heart->resumed_ns) &&
                   between_ns < NTK_HEALTH_NEVER_NS;

    if (is_pace && between_ns > heart->longest_ns) {
        heart->longest_ns = between_ns;
    }
    if (heart->is_still) {
        heart->resumed_ns = is_pace && heart->resumed_ns ? heart->resumed_ns : now.monotonic_ns;
        heart->is_still = !ntk_health_is_past(heart->resumed_ns, NTK_HEALTH_HOLD_NS, now);
    }
    if (!heart->is_still) {
        heart->resumed_ns = 0;
    }
    heart->has_beaten = true;
    heart->value = value;
    heart->beat_ns = now.monotonic_ns;
}

/* Reads the heartbeat. Returns false if it decreased, which means that the driver was replaced. */
static bool read_heart(struct device_state *device, const struct ntk_device_value *value,
                       bool beats, struct ntk_health_time now)
{
    struct heart *heart = &device->heart;

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
        take_beat(heart, value->value, now);
        return true;
    }
    if (!beats) { /* no process drives it, so the time does not count */
        heart->beat_ns = now.monotonic_ns;
        heart->is_still = false;
        heart->resumed_ns = 0;
        return true;
    }
    if (heart->is_still) {
        if (ntk_health_is_past(heart->beat_ns, NTK_HEALTH_NEVER_NS, now)) {
            heart->resumed_ns = 0;
        }
    } else if (ntk_health_is_past(heart->beat_ns, heart_limit_ns(heart), now)) {
        heart->is_still = true;
        heart->still_since_ns = now.realtime_ns;
        heart->resumed_ns = 0;
    }
    return true;
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

        if (ntk_health_signals[s].origin != ORIGIN_STATUS) {
            continue;
        }
        value = &reading->status[ntk_health_signals[s].status];
        if (!value->present) {
            miss_sign(sign, now);
            continue;
        }
        device->evidence |= 1u << NTK_HEALTH_BY_STATUS;
        if (!sign->is_known) {
            sign->base = counts_from_zero ? 0 : value->value;
        }
        find_sign(sign, now);
        if (value->value > sign->base) {
            ntk_health_raise_sign(sign, now);
            sign->count += value->value - sign->base;
            is_worse = true;
        } else if (value->value < sign->base) {
            clear_sign(sign); /* a user cleared the counter */
        }
        sign->base = value->value;
    }
    if (success->present) {
        if (core->has_success && success->value > core->success && !is_worse) {
            ntk_health_clear_work(core, ORIGIN_STATUS, now);
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

            ntk_health_begin_anew(device);
            device->heart = heart;
            device->is_software = is_software;
        }
        read_ecc(device, reading, now);
        read_components(device, reading, now);
    }
    device->is_known = true;
    device->first_ns = device->first_ns ? device->first_ns : now.monotonic_ns;
    for (size_t c = 0; c < NTK_DEVICE_CORES_MAX && read & NTK_DEVICE_READ_FAULTS; c++) {
        if (!(reading->skipped_cores >> c & 1)) {
            reset = was_reset(&device->cores[c], &reading->cores[c].reset_requests) || reset;
        }
    }
    if (reset) {
        clear_cores(device);
    }
    for (size_t c = 0; c < NTK_DEVICE_CORES_MAX && read & NTK_DEVICE_READ_FAULTS; c++) {
        if (!(reading->skipped_cores >> c & 1)) {
            read_status(device, &device->cores[c], &reading->cores[c], counts_from_zero, now);
        }
    }
    ntk_health_judge(health, device, now);
}
