/* SPDX-License-Identifier: MIT */
/*
 * core_hardware - applies the effects of hardware faults to an execution, its core, and the
 * counters that a driver would have.
 */
#include "runtime-hooks/core/core_state.h"

#include <errno.h>
#include <string.h>

#include "shared/base/clock.h"

/* "none" in the table refers to a counter that is never read. */
struct device_counters {
    struct ntk_soft_device device;
    uint64_t none;
};

static const struct {
    enum ntk_core_outcome outcome;
    size_t counter; /* offset in struct device_counters */
    uint64_t unhealthy;
    uint32_t error_code;
    bool is_fatal;
} effects[] = {
#define COUNTER_none offsetof(struct device_counters, none)
#define COUNTER_mem_ecc_corrected offsetof(struct ntk_soft_device, mem_ecc_corrected)
#define COUNTER_sram_ecc_corrected offsetof(struct ntk_soft_device, sram_ecc_corrected)
#define COUNTER_mem_ecc_uncorrected offsetof(struct ntk_soft_device, mem_ecc_uncorrected)
#define COUNTER_mem_ecc_repairable_uncorrected \
    offsetof(struct ntk_soft_device, mem_ecc_repairable_uncorrected)
#define COUNTER_sram_ecc_uncorrected offsetof(struct ntk_soft_device, sram_ecc_uncorrected)
#define NTK_FAULT(symbol, name, outcome, counter, unhealthy, code, fatal) \
    { outcome, COUNTER_##counter, unhealthy, code, fatal },
#define NTK_SLOWNESS(symbol, name, setting) \
    { NTK_CORE_COMPLETED, COUNTER_none, 0, NTK_ERROR_CODE_STATUS, false },
#include "runtime-hooks/core/core_fault.def"
#undef NTK_FAULT
};

static void sentence_set(const struct ntk_core *core, enum ntk_core_text text,
                         const struct core_text_facts *facts, int error, struct ntk_err *err)
{
    char sentence[NTK_ERR_TEXT_BYTES];

    (void)core_text_write(core->options.texts, text, facts, sentence, sizeof sentence);
    if (sentence[0]) {
        ntk_err_set(err, error, NTK_ERR_NO_OFFSET, "%s", sentence);
    }
}

/* Updates the driver's counter and writes the record. This record has no class, because the
 * execution's outcome has one. */
static void fault_count(struct ntk_core *core, const struct core_nc *nc, uint32_t device_index,
                        const struct core_hardware_subject *subject,
                        const struct ntk_core_fault *fault)
{
    struct ntk_soft_device *device = &core->soft->state->device[device_index];
    struct ntk_hooks_error event = { .execution_id = subject->execution_id,
                                     .value = fault->amount,
                                     .status = core_status(effects[fault->kind].outcome),
                                     .error_class = NTK_ERROR_CLASS_NONE,
                                     .error_code = effects[fault->kind].error_code,
                                     .core = (uint16_t)nc->first_physical,
                                     .model = subject->model };

    if (effects[fault->kind].counter < sizeof *device) {
        ntk_abi_add_shared((uint64_t *)(void *)((char *)device + effects[fault->kind].counter),
                           fault->amount);
    }
    if (effects[fault->kind].unhealthy != 0) {
        (void)__atomic_fetch_or(&device->unhealthy_components, effects[fault->kind].unhealthy,
                                __ATOMIC_RELEASE);
    }
    ntk_hooks_error(&event);
}

/* Adds the effect of a fault; several faults of one kind add up. */
static void slowness_add(const struct ntk_core_fault *fault, struct core_slowness *slowness)
{
    if (fault->kind == NTK_CORE_FAULT_SLOW_CORE) {
        slowness->core = ntk_core_fault_factor_join(slowness->core, fault->factor);
    } else if (fault->kind == NTK_CORE_FAULT_SLOW_HBM) {
        slowness->hbm = ntk_core_fault_factor_join(slowness->hbm, fault->factor);
    } else {
        slowness->pause_ns += fault->time_ns;
    }
}

void core_pause(const struct ntk_clock *clock, uint64_t pause_ns)
{
    if (pause_ns > 0) {
        core_pace(clock, ntk_clock_now_ns(clock), pause_ns);
    }
}

enum ntk_core_outcome core_hardware_check(struct ntk_core *core, struct core_nc *nc,
                                          const struct core_hardware_subject *subject,
                                          struct core_slowness *slowness, struct ntk_err *err)
{
    struct ntk_core_fault faults[NTK_CORE_FAULTS_MAX];
    uint32_t per_device = core->row->facts.cores_per_device;
    struct core_text_facts facts = { .device = nc->first_physical / per_device,
                                     .core = nc->first_physical % per_device,
                                     .model = subject->model_name,
                                     .timeout_ns = subject->timeout_ns };
    enum ntk_core_outcome outcome = NTK_CORE_COMPLETED;

    if (nc->is_dead) {
        sentence_set(core, NTK_CORE_TEXT_DEAD, &facts, -EIO, err);
        return NTK_CORE_DEAD;
    }
    size_t count = ntk_core_faults_strike(core->faults, nc->first_physical / core->lnc, faults);
    for (size_t i = 0; i < count; i++) {
        if (faults[i].kind == NTK_CORE_FAULT_BIT_FLIP) {
            slowness->flips_bit = true;
            continue;
        }
        if (ntk_core_fault_is_slowness(faults[i].kind)) {
            slowness_add(&faults[i], slowness);
            continue;
        }
        fault_count(core, nc, facts.device, subject, &faults[i]);
        /* The first fault that ends the execution determines its outcome; the other faults are
         * still counted. */
        if (outcome == NTK_CORE_COMPLETED) {
            outcome = effects[faults[i].kind].outcome;
            sentence_set(core, (enum ntk_core_text)faults[i].kind, &facts,
                         outcome == NTK_CORE_TIMED_OUT ? -ETIMEDOUT : -EIO, err);
        }
        nc->is_dead = nc->is_dead || effects[faults[i].kind].is_fatal;
    }
    return outcome;
}
