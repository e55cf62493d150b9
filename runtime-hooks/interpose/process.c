/* SPDX-License-Identifier: MIT */
/*
 * process - observes a process from a successful nrt_init() to nrt_close(): earlier there is
 * nothing to report, and most programs with a preload are shells and compilers.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "runtime-hooks/interpose/execute.h"
#include "runtime-hooks/interpose/observe.h"
#include "runtime-hooks/interpose/pending.h"
#include "runtime-hooks/interpose/say.h"

/* Prefix of the version detail of a runtime of this project, which has its own hooks. */
#define OWN_RUNTIME "software NeuronCores"

#define SETTLE_PAUSE_NS 50000
#define SETTLE_TURNS 2000 /* 100 ms */

__thread struct interpose_thread interpose_thread __attribute__((tls_model("initial-exec")));
uint32_t interpose_generation;

/* Serialises nrt_init() and nrt_close(). */
static pthread_mutex_t lifecycle = PTHREAD_MUTEX_INITIALIZER;
static uint32_t attach_count;

/* True if there is state from an earlier use of the runtime. */
static bool was_attached;

void interpose_process_after_fork(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    memcpy(&lifecycle, &fresh, sizeof fresh);
    interpose_generation = 0;
    if (was_attached) {
        was_attached = false;
        interpose_models_after_fork();
        interpose_tensors_after_fork();
        interpose_captures_after_fork();
        interpose_callbacks_after_fork();
        pending_after_fork();
    }
}

static void cores_claim(void)
{
    for (uint32_t i = 0; i < interpose_cores.count; i++) {
        uint16_t first = interpose_core_get(i);

        for (uint32_t p = 0; first != NTK_NO_CORE && p < interpose_cores.lnc; p++) {
            ntk_hooks_core_claim((uint16_t)(first + p), interpose_cores.logical[i], p == 0);
        }
    }
}

/* Attaches once the runtime is open. The caller holds the lock. */
static void attach(nrt_framework_type_t framework, const char *fw_version, const char *fal_version)
{
    /* true after the first message of the process, even if it opens the runtime again */
    static bool is_said;
    char note[256] = "";
    char runtime_version[NTK_VERSION_TEXT_BYTES] = "";
    nrt_version_t version = { 0 };

    if (REAL(nrt_get_version)(&version, sizeof version) == NRT_SUCCESS) {
        if (strncmp(version.rt_detail, OWN_RUNTIME, sizeof OWN_RUNTIME - 1) == 0) {
            interpose_marks_pass_on();
            return;
        }
        (void)snprintf(runtime_version, sizeof runtime_version, "%llu.%llu.%llu.%llu",
                       (unsigned long long)version.rt_major, (unsigned long long)version.rt_minor,
                       (unsigned long long)version.rt_patch,
                       (unsigned long long)version.rt_maintenance);
    }
    interpose_cores_find();
    interpose_implicit_find(&version);
    struct ntk_hooks_config config = {
        .instance_type = interpose_cores.instance,
        .runtime_version = runtime_version,
        .framework_version = fw_version,
        .fal_version = fal_version,
        .framework_type = (uint32_t)framework,
        .lnc = interpose_cores.lnc,
        .device_count = interpose_cores.device_count,
        .cores_per_device = interpose_cores.cores_per_device,
        .process_flags = interpose_cores.is_guessed ? NTK_PROCESS_CORES_GUESSED : 0,
        .flags = NTK_HOOKS_CORES_SHARED,
    };
    interpose_fork_watch();
    was_attached = true;
    (void)ntk_hooks_attach(&config, note, sizeof note);
    if (note[0] != '\0' && !is_said) {
        is_said = true;
        INTERPOSE_SAY(note);
    }
    if (!ntk_hooks_counters_on()) {
        return;
    }
    cores_claim();
    attach_count++;
    __atomic_store_n(&interpose_generation, attach_count, __ATOMIC_RELEASE);
}

/* Waits until the threads that have just returned from a call have counted it. The runtime is
 * closed, so none of its calls is running. Queued items that will never be reported delay the exit
 * only briefly. */
static void executions_settle(void)
{
    static const struct timespec pause = { .tv_nsec = SETTLE_PAUSE_NS };

    for (uint32_t turn = 0; turn < SETTLE_TURNS; turn++) {
        bool is_idle = true;

        for (uint32_t i = 0; i < interpose_cores.count; i++) {
            uint16_t core = interpose_core_get(i);

            is_idle = is_idle && (core == NTK_NO_CORE || ntk_hooks_core_is_idle(core));
        }
        if (is_idle) {
            return;
        }
        (void)nanosleep(&pause, NULL);
    }
}

static void detach(void)
{
    if (interpose_generation == 0) {
        return;
    }
    /* the runtime has run everything that it accepted */
    pending_end_implicit(NTK_NO_CORE, NRT_SUCCESS);
    executions_settle();
    __atomic_store_n(&interpose_generation, 0u, __ATOMIC_SEQ_CST);
    interpose_models_forget();
    interpose_tensors_forget();
    for (uint32_t i = 0; i < interpose_cores.count; i++) {
        uint16_t first = interpose_core_get(i);

        for (uint32_t p = 0; first != NTK_NO_CORE && p < interpose_cores.lnc; p++) {
            ntk_hooks_core_release((uint16_t)(first + p));
        }
    }
    ntk_hooks_detach();
}

/* nrt_init() and nrt_close() do additional work that must be completed: it reads files and waits
 * for threads, and both are cancellation points. */
static void lifecycle_enter(int *out_cancel_state)
{
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, out_cancel_state);
    pthread_mutex_lock(&lifecycle);
}

static void lifecycle_leave(int cancel_state)
{
    pthread_mutex_unlock(&lifecycle);
    (void)pthread_setcancelstate(cancel_state, NULL);
}

NRT_STATUS observed_nrt_init(nrt_framework_type_t framework, const char *fw_version,
                             const char *fal_version)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL(nrt_init)(framework, fw_version, fal_version);
    int cancel_state;

    if (status == NRT_SUCCESS && interpose_thread.depth == 1) {
        lifecycle_enter(&cancel_state);
        if (interpose_generation == 0) {
            attach(framework, fw_version, fal_version);
        }
        lifecycle_leave(cancel_state);
    }
    return status;
}

NRT_STATUS observed_nrt_close(void)
{
    INTERPOSE_SCOPE;
    int cancel_state;

    if (scope.generation) {
        (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
        pending_stop();
        (void)pthread_setcancelstate(cancel_state, NULL);
    }
    NRT_STATUS status = REAL(nrt_close)();

    if (interpose_thread.depth == 1) {
        lifecycle_enter(&cancel_state);
        detach();
        lifecycle_leave(cancel_state);
    }
    return status;
}
