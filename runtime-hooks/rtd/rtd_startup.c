/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/rtd/rtd_startup.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "shared/base/cond.h"
#include "shared/base/log.h"

#define MODULE "startup"

static void bdf_of(const struct rtd_devices *devices, size_t at, char out_bdf[NTK_CORE_BDF_BYTES])
{
    if (devices->indexes[at] == UINT32_MAX) {
        (void)snprintf(out_bdf, NTK_CORE_BDF_BYTES, "%s", devices->bdfs[at]);
    } else {
        ntk_core_machine_bdf(devices->indexes[at], out_bdf);
    }
}

/* Prints the original's output for a failed attempt; only the number in its second line differs. */
static void tell_attempt(const struct rtd_devices *devices, unsigned attempt)
{
    char list[RTD_DEVICES_MAX * NTK_CORE_BDF_BYTES];
    size_t used = 0;

    list[0] = '\0';
    for (size_t i = 0; i < devices->count; i++) {
        char bdf[NTK_CORE_BDF_BYTES];

        bdf_of(devices, i, bdf);
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? " " : "", bdf);
    }
    if (devices->count == 0) {
        ntk_log_error(MODULE, "[NMGR:kmgr_init_mlas] No devices specified");
    }
    ntk_log_error(MODULE, "[NRTD:InitTongas] Failed to initialize devices, error:2");
    ntk_log_error(MODULE, "[NRTD:nrtd_main] Failed to initialize devices: %s, attempt: %u", list,
                  attempt);
}

/* Reports the first device that another process holds, if any. */
static void tell_holder(const struct ntk_core_machine *machine, const struct rtd_devices *devices,
                        struct ntk_err *why)
{
    for (size_t i = 0; i < devices->count; i++) {
        uint32_t device = devices->indexes[i];
        int pid = ntk_core_machine_holder(machine, device);
        char bdf[NTK_CORE_BDF_BYTES];

        if (pid > 0) {
            bdf_of(devices, i, bdf);
            ntk_log_error("", "neuron:ncdev_device_init: device inuse by pid:%d", pid);
            ntk_log_error(MODULE, "[TDRV:tdrv_init_mla_phase1] Could not open the device index:%u",
                          device);
            (void)ntk_err_set(why, -EBUSY, NTK_ERR_NO_OFFSET,
                              "device %u (%s) is in use by process %d", device, bdf, pid);
            return;
        }
    }
}

static void tell_absent(const struct ntk_core_machine *machine, const struct rtd_devices *devices)
{
    for (size_t i = 0; i < devices->count; i++) {
        if (devices->indexes[i] != UINT32_MAX && devices->indexes[i] >= machine->device_count) {
            ntk_log_error(MODULE, "[TDRV:tdrv_init_mla_phase1] Could not open the device index:%u",
                          devices->indexes[i]);
        }
    }
}

static void tell_each(const struct rtd_devices *devices, const char *format)
{
    for (size_t i = 0; i < devices->count; i++) {
        char bdf[NTK_CORE_BDF_BYTES];

        bdf_of(devices, i, bdf);
        ntk_log_info(MODULE, format, bdf);
    }
}

static struct ntk_core *attempt(const struct ntk_core_options *options,
                                const struct ntk_core_machine *machine,
                                const struct rtd_devices *devices, struct ntk_err *why)
{
    struct ntk_core *core = NULL;

    tell_each(devices, "[TDRV:reset_mla] Resetting %s");
    if (ntk_core_open(options, &core, why) == 0) {
        tell_each(devices, "[TDRV:tdrv_init_one_mla_phase2] Initialized Inferentia: %s");
        return core;
    }
    if (why->code == -EBUSY) {
        tell_holder(machine, devices, why);
    }
    return NULL;
}

/* Returns true if the daemon must exit. The signal stays pending for the thread that waits for
 * it. */
static bool pause_between(const struct ntk_clock *clock)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    int fd = signalfd(-1, &signals, SFD_CLOEXEC);
    /* without a descriptor, poll() only waits */
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    bool is_ending =
        ntk_cond_poll(clock, &ready, 1, ntk_clock_now_ns(clock) + RTD_STARTUP_PAUSE_NS) > 0;
    if (fd >= 0) {
        close(fd);
    }
    return is_ending;
}

struct ntk_core *rtd_startup(struct ntk_core_options *options,
                             const struct ntk_core_machine *machine,
                             const struct rtd_devices *devices, const struct ntk_clock *clock,
                             struct ntk_err *why)
{
    uint32_t lnc = machine->default_lnc ? machine->default_lnc : 1;
    uint32_t cores_per_device = machine->cores_per_device / lnc;
    bool is_hopeless = why->code < 0;

    if (!is_hopeless && devices->count == 0) {
        (void)ntk_err_set(why, -ENODEV, NTK_ERR_NO_OFFSET, "this daemon has no devices");
        is_hopeless = true;
    }
    options->exact = true;
    options->first_core = devices->indexes[0] * cores_per_device;
    options->core_count = (uint32_t)devices->count * cores_per_device;
    for (unsigned number = 1; number <= RTD_STARTUP_ATTEMPTS; number++) {
        struct ntk_core *core = is_hopeless ? NULL : attempt(options, machine, devices, why);

        if (core) {
            return core;
        }
        if (is_hopeless) {
            tell_absent(machine, devices);
        }
        ntk_log_error(MODULE, "[TDRV:tdrv_destroy] TDRV not initialized");
        tell_attempt(devices, number);
        if (number < RTD_STARTUP_ATTEMPTS && pause_between(clock)) {
            break;
        }
    }
    ntk_log_error(MODULE, "%s: every call is answered with NERR_HW_ERROR", why->text);
    return NULL;
}
