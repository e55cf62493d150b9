/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/env/env_soft.h"
#include "runtime-hooks/inspect/inspect.h"
#include "runtime-hooks/libnrt/nrt_env.h"
#include "runtime-hooks/libnrt/nrt_env_names.h"
#include "runtime-hooks/libnrt/nrt_identity.h"
#include "runtime-hooks/libnrt/nrt_infodump.h"
#include "runtime-hooks/libnrt/nrt_inspect.h"
#include "runtime-hooks/libnrt/nrt_log.h"
#include "runtime-hooks/libnrt/nrt_request.h"
#include "runtime-hooks/libnrt/nrt_sendrecv.h"
#include "runtime-hooks/libnrt/nrt_status_map.h"
#include "runtime-hooks/libnrt/nrt_trigger.h"
#include "shared/abi/driver.h"
#include "shared/base/quiet.h"

enum state {
    STATE_NEVER_OPENED,
    STATE_OPEN,
    STATE_CLOSED,
};

/* Every call locks it for reading; init and close lock it for writing and must not starve. */
static pthread_rwlock_t gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
/* Init and close hold it throughout; the state changes only with both locks held. */
static pthread_mutex_t lifecycle = PTHREAD_MUTEX_INITIALIZER;
static enum state state;
static struct ntk_core *core;
static pthread_once_t fork_handler = PTHREAD_ONCE_INIT;
/* True if there was a file size limit when the runtime was opened: calls that may write must block
 * its signal. */
static bool is_limited;
static __thread struct ntk_quiet call_quiet __attribute__((tls_model("initial-exec")));

static void model_release(struct ntk_core_handle *handle)
{
    struct nrt_model *model = (struct nrt_model *)handle;

    ntk_inspect_model_unloading(nrt_front_core_get(), model->core);
    ntk_core_model_unload(model->core);
    model->core = NULL;
}

static void tensor_release(struct ntk_core_handle *handle)
{
    struct nrt_tensor *tensor = (struct nrt_tensor *)handle;

    ntk_core_tensor_destroy(tensor->core);
    tensor->core = NULL;
}

static void set_release(struct ntk_core_handle *handle)
{
    struct nrt_set *set = (struct nrt_set *)handle;

    ntk_vec_each(struct nrt_set_entry, entry, &set->entries) {
        free(entry->name);
    }
    ntk_vec_fini(&set->entries);
    pthread_mutex_destroy(&set->lock);
}

struct ntk_core_handle_pool nrt_front_models =
    NTK_CORE_HANDLE_POOL_INIT(struct nrt_model, model_release);
struct ntk_core_handle_pool nrt_front_tensors =
    NTK_CORE_HANDLE_POOL_INIT(struct nrt_tensor, tensor_release);
struct ntk_core_handle_pool nrt_front_sets = NTK_CORE_HANDLE_POOL_INIT(struct nrt_set, set_release);

/* The child does not have the parent's threads, locks and cores. */
static void child_after_fork(void)
{
    static const pthread_rwlock_t fresh = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    static const pthread_mutex_t fresh_lifecycle = PTHREAD_MUTEX_INITIALIZER;

    gate = fresh;
    lifecycle = fresh_lifecycle;
    ntk_inspect_forget();
    nrt_sys_trace_forget();
    nrt_trigger_forget();
    if (state == STATE_OPEN) {
        nrt_request_forget_after_fork();
        nrt_sendrecv_forget_after_fork();
        ntk_core_handle_forget(&nrt_front_sets);
        ntk_core_handle_forget(&nrt_front_tensors);
        ntk_core_handle_forget(&nrt_front_models);
        ntk_core_forget_after_fork(core);
    }
    core = NULL;
    state = STATE_NEVER_OPENED;
}

static void fork_handler_install(void)
{
    (void)pthread_atfork(NULL, NULL, child_after_fork);
}

NRT_STATUS nrt_front_enter(void)
{
    pthread_rwlock_rdlock(&gate);
    if (state == STATE_OPEN) {
        if (is_limited && !call_quiet.is_entered) {
            ntk_quiet_enter(&call_quiet);
        }
        return NRT_SUCCESS;
    }
    NRT_STATUS status = state == STATE_CLOSED ? NRT_CLOSED : NRT_UNINITIALIZED;
    pthread_rwlock_unlock(&gate);
    return status;
}

void nrt_front_leave(void)
{
    if (call_quiet.is_entered) {
        ntk_quiet_leave(&call_quiet);
    }
    pthread_rwlock_unlock(&gate);
}

NRT_STATUS nrt_front_no_model(const nrt_model_t *model)
{
    return model ? NRT_INVALID_HANDLE : NRT_INVALID;
}

struct ntk_core *nrt_front_core_get(void)
{
    return core;
}

NRT_STATUS nrt_front_fail(const char *function, int error, const struct ntk_err *err)
{
    NRT_STATUS status = nrt_status_from_error(error);
    char text[NTK_ERR_TEXT_BYTES + 32];

    nrt_log_error(function, "%s (%s)", ntk_err_format(err, text, sizeof text),
                  nrt_get_status_as_str(status));
    return status;
}

void nrt_front_execution_failed(const char *function, const struct nrt_model *model,
                                NRT_STATUS status, const struct ntk_err *err)
{
    const char *cause =
        status == NRT_EXEC_OOB ? "exec_wait_round_robin" : "exec_request_process_errors";

    if (err->text[0] != '\0') {
        nrt_log_write(NRT_LOG_TDRV, NRT_LOG_ERROR, cause, "%s", err->text);
    }
    nrt_log_write(NRT_LOG_NMGR, NRT_LOG_ERROR, "dlr_infer",
                  "Inference completed with err: %d. mode->h_nn=%u, lnc=%u", (int)status,
                  ntk_core_model_id(model->core), ntk_core_model_nc(model->core));
    nrt_log_write(NRT_LOG_NRT, NRT_LOG_ERROR, function,
                  "Failed to execute model %s with status %d (%s)",
                  ntk_core_model_name(model->core), (int)status, nrt_get_status_as_str(status));
    ntk_inspect_execution_failed(nrt_front_core_get(), model->core);
    if (status != NRT_EXEC_COMPLETED_WITH_NUM_ERR) { /* the execution has valid outputs */
        nrt_infodump(NRT_INFODUMP_EXECUTE, status, core);
    }
}

static void warn(const char *sentence)
{
    nrt_log_write(NRT_LOG_NRT, NRT_LOG_WARN, "nrt_init", "%s", sentence);
}

/* Logs one line for each line of the table. */
static void shortage(const char *cause, const char *cores, const char *table)
{
    nrt_log_write(NRT_LOG_TDRV, NRT_LOG_ERROR, "log_dev_mem", "%s", cause);
    nrt_log_write(NRT_LOG_TDRV, NRT_LOG_ERROR, "print_lnc_hbm_details", "%s", cores);
    while (*table) {
        int bytes = (int)strcspn(table, "\n");

        nrt_log_write(NRT_LOG_TDRV, NRT_LOG_ERROR, "log_dev_mem_usage_table", "%.*s", bytes, table);
        table += bytes + (table[bytes] == '\n');
    }
}

/* Reports the failure; the message with the cause is the last line before output of the program. */
static NRT_STATUS open_failed(const char *function, int error, const struct ntk_err *err)
{
    nrt_infodump(NRT_INFODUMP_INIT, nrt_status_from_error(error), NULL);
    return nrt_front_fail(function, error, err);
}

/* Opens the runtime. The caller holds the gate for writing. */
static NRT_STATUS front_open(nrt_framework_type_t framework, const char *fw_version,
                             const char *fal_version)
{
    struct ntk_core_options options = { 0 };
    struct ntk_core_machine machine = { 0 };
    struct ntk_err err = { 0 };
    struct ntk_core_machine_options wanted;
    int ret = ntk_env_soft_machine_get(&wanted, &err);

    ret = ret < 0 ? ret : ntk_core_machine_find(&wanted, &machine, &err);
    if (ret >= 0) {
        ret = nrt_env_options_get(&machine, &options, &err);
    }
    if (ret < 0) {
        return open_failed("nrt_init", ret, &err);
    }
    options.framework = (uint32_t)framework;
    options.framework_version = fw_version;
    options.fal_version = fal_version;
    options.runtime_version = NRT_FRONT_RUNTIME_VERSION;
    options.warn = warn;
    options.shortage = shortage;
    ret = ntk_core_open(&options, &core, &err);
    if (ret < 0) {
        return open_failed("nrt_allocate_neuron_cores", ret, &err);
    }
    ret = nrt_request_open(core, &err);
    if (ret < 0) {
        ntk_core_close(core);
        core = NULL;
        return open_failed("nrt_init", ret, &err);
    }
    state = STATE_OPEN;
    if (nrt_identity_is_software && ntk_driver_is_loaded("/sys")) {
        nrt_log_error("nrt_init", "this machine has a Neuron driver, but this process uses "
                                  "software NeuronCores: its libnrt.so.1 is not the vendor's");
    }
    nrt_inspect_opened(core);
    nrt_trigger_start(core, NULL);
    nrt_log_info("nrt_init", "using %u NeuronCores of a software %s, starting at core %u",
                 ntk_core_count(core), machine.instance, ntk_core_global(core, 0));
    return NRT_SUCCESS;
}

/* Refuses a call in a callback, because it would wait for the callback's own thread. */
static NRT_STATUS refuse_worker(const char *function)
{
    nrt_log_error(function, "called from a callback (NRT_FAILURE)");
    return NRT_FAILURE;
}

NRT_STATUS nrt_init(nrt_framework_type_t framework, const char *fw_version, const char *fal_version)
{
    NRT_STATUS status = NRT_SUCCESS;

    if ((int)framework <= NRT_FRAMEWORK_TYPE_INVALID ||
        (int)framework > NRT_FRAMEWORK_TYPE_PRECHECK) {
        nrt_log_error("nrt_init", "unknown framework type %d (NRT_INVALID)", (int)framework);
        return NRT_INVALID;
    }
    pthread_once(&fork_handler, fork_handler_install);
    if (ntk_core_crew_is_worker()) {
        return refuse_worker("nrt_init");
    }
    pthread_mutex_lock(&lifecycle);
    /* No thread may wait for the gate of an open runtime, because callbacks could not enter
     * then. */
    if (state != STATE_OPEN) {
        struct ntk_quiet quiet;

        ntk_quiet_enter(&quiet);
        pthread_rwlock_wrlock(&gate);
        is_limited = ntk_quiet_is_limited();
        nrt_log_open();
        nrt_env_tell();
        nrt_infodump_reset();
        status = front_open(framework, fw_version, fal_version);
        pthread_rwlock_unlock(&gate);
        ntk_quiet_leave(&quiet);
    }
    pthread_mutex_unlock(&lifecycle);
    return status;
}

NRT_STATUS nrt_close(void)
{
    if (ntk_core_crew_is_worker()) {
        return refuse_worker("nrt_close");
    }
    pthread_mutex_lock(&lifecycle);
    if (state == STATE_OPEN) {
        struct ntk_quiet quiet;

        ntk_quiet_enter(&quiet);
        nrt_trigger_stop();
        /* Queued requests run to the end, and their callbacks may call the library. */
        nrt_request_stop();
        pthread_rwlock_wrlock(&gate);
        nrt_request_close();
        nrt_sendrecv_close_all();
        ntk_inspect_closing(core);
        ntk_core_handle_close_all(&nrt_front_sets);
        ntk_core_handle_close_all(&nrt_front_models);
        ntk_core_handle_close_all(&nrt_front_tensors);
        ntk_core_close(core);
        core = NULL;
        state = STATE_CLOSED;
        nrt_log_info("nrt_close", "closed");
        nrt_log_close();
        pthread_rwlock_unlock(&gate);
        ntk_quiet_leave(&quiet);
    }
    pthread_mutex_unlock(&lifecycle);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_get_version(nrt_version_t *ver, size_t size)
{
    nrt_version_t version = { .rt_major = 2, .rt_minor = 31, .rt_patch = 24 };

    if (!ver || size == 0) {
        return NRT_INVALID;
    }
    (void)snprintf(version.rt_detail, sizeof version.rt_detail, "%s", nrt_identity_detail);
    memcpy(ver, &version, size < sizeof version ? size : sizeof version);
    return NRT_SUCCESS;
}
