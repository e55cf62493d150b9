/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_infodump.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "runtime-hooks/libnrt/nrt_env_names.h"
#include "runtime-hooks/libnrt/nrt_log.h"

#define CORES_TEXT_BYTES 512
#define NO_CLUSTER "0000000000000000"

static const char *const calls[] = {
    [NRT_INFODUMP_INIT] = "nrt_init",
    [NRT_INFODUMP_LOAD] = "nrt_load",
    [NRT_INFODUMP_EXECUTE] = "nrt_execute",
};

static _Atomic uint32_t reported; /* one bit per call */

#define line(...) nrt_log_error("nrt_infodump", __VA_ARGS__)

static void variable_line(const char *assignment, void *ctx)
{
    (void)ctx;
    line("    %s", assignment);
}

/* Formats global logical numbers, such as "0, 1". */
static void cores_format(const struct ntk_core *core, char *text, size_t bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < ntk_core_count(core) && used < bytes; i++) {
        used += (size_t)snprintf(text + used, bytes - used, "%s%u", i > 0 ? ", " : "",
                                 ntk_core_global(core, i));
    }
}

void nrt_infodump(enum nrt_infodump_call call, NRT_STATUS status, const struct ntk_core *core)
{
    struct utsname host = { 0 };
    nrt_version_t version;
    char cores[CORES_TEXT_BYTES];

    if (status == NRT_INVALID || status == NRT_UNSUPPORTED_NEFF_VERSION ||
        (atomic_fetch_or(&reported, 1U << call) & 1U << call) != 0) {
        return;
    }
    (void)nrt_get_version(&version, sizeof version);
    (void)uname(&host);
    line("Neuron runtime information - please include in any support request:");
    line("------------->8------------[ cut here ]------------>8-------------");
    line("NRT version: %u.%u.%u.%u (%s)", (unsigned)version.rt_major, (unsigned)version.rt_minor,
         (unsigned)version.rt_patch, (unsigned)version.rt_maintenance, version.rt_detail);
    line("Embedded FW version: none");
    line("CCOM version: none");
    line("NCFW version: none");
    line("Instance ID: %s", NTK_CORE_INSTANCE_ID);
    line("Cluster ID: " NO_CLUSTER);
    line("Kernel: %s %s", host.sysname, host.release);
    line("Nodename: %s", host.nodename);
    if (core) {
        line("Driver version: %s", ntk_core_driver_version(core));
    }
    line("Failure: %s in %s()", nrt_get_status_as_str(status), calls[call]);
    if (core) {
        cores_format(core, cores, sizeof cores);
        line("LNC: %u", ntk_core_lnc(core));
        line("Visible cores: %s", cores);
    }
    line("Environment:");
    nrt_env_each(variable_line, NULL);
    line("-------------8<-----------[ cut to here ]-----------8<------------");
}

void nrt_infodump_reset(void)
{
    atomic_store(&reported, 0);
}
