/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/cnrt/cnrt_front.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "runtime-hooks/cnrt/cnrt_clusters.h"
#include "runtime-hooks/cnrt/cnrt_env.h"
#include "shared/base/quiet.h"

#define WORKERS_MAX 64U /* maximum items of queues that run at the same time: */
#define COPIERS 4U      /* a task per cluster, and this many copies, which need no cluster */

enum state { STATE_CLOSED, STATE_OPEN, STATE_FAKE };

/* Read-locked by every call; write-locked by open and close, which must not starve. */
static pthread_rwlock_t gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
/* Held during open and close; the state changes only with both locks held. */
static pthread_mutex_t lifecycle = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_handler = PTHREAD_ONCE_INIT;
static enum state state;
static uint32_t epoch; /* number of opens; a change invalidates threads' earlier choices */
static struct ntk_core *core;
static struct ntk_core_crew *crew;
static struct cnrt_device devices[CNRT_DEVICES_MAX];
static uint32_t device_count;

struct choice {
    uint32_t epoch;
    uint32_t device;
    int channel;
};
static __thread struct choice choice __attribute__((tls_model("initial-exec")));
static __thread int last_error __attribute__((tls_model("initial-exec")));

/* Resets the child of a fork, which lacks the parent's threads, locks and cores. */
static void child_after_fork(void)
{
    static const pthread_rwlock_t fresh = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    static const pthread_mutex_t fresh_lifecycle = PTHREAD_MUTEX_INITIALIZER;

    gate = fresh;
    lifecycle = fresh_lifecycle;
    cnrt_casts_forget();
    if (state == STATE_OPEN) {
        cnrt_contexts_forget();
        cnrt_models_forget();
        cnrt_notifiers_forget();
        cnrt_queues_forget();
        cnrt_memory_forget();
        cnrt_programs_forget();
        cnrt_clusters_forget();
        ntk_core_forget_after_fork(core);
    }
    core = NULL;
    crew = NULL;
    device_count = 0;
    state = STATE_CLOSED;
}

static void fork_handler_install(void)
{
    (void)pthread_atfork(NULL, NULL, child_after_fork);
}

static int enter(bool fake_will_do)
{
    pthread_rwlock_rdlock(&gate);
    if (state == STATE_OPEN || (state == STATE_FAKE && fake_will_do)) {
        return CNRT_OK;
    }
    int code = state == STATE_FAKE ? CNRT_FAKE_DEVICE : CNRT_ERR_INIT;
    pthread_rwlock_unlock(&gate);
    return code;
}

int cnrt_front_enter(void)
{
    return enter(false);
}

int cnrt_front_enter_any(void)
{
    return enter(true);
}

int cnrt_front_leave(int entered, int ret)
{
    if (entered == CNRT_OK) {
        pthread_rwlock_unlock(&gate);
    }
    return cnrt_front_end(ret);
}

int cnrt_front_end(int ret)
{
    if (ret != CNRT_OK) {
        last_error = ret;
    }
    return ret;
}

int cnrt_front_last_error(void)
{
    return last_error;
}

struct ntk_core *cnrt_front_core(void)
{
    return core;
}

struct ntk_core_crew *cnrt_front_crew(void)
{
    return crew;
}

uint32_t cnrt_front_device_count(void)
{
    return device_count;
}

struct cnrt_device *cnrt_front_device(uint32_t ordinal)
{
    return &devices[ordinal];
}

bool cnrt_front_is_fake(void)
{
    return state == STATE_FAKE;
}

/* The thread's choices; reset if the library was opened since then. */
static struct choice *choice_get(void)
{
    if (choice.epoch != epoch) {
        choice = (struct choice){ .epoch = epoch, .channel = CNRT_CHANNEL_NONE };
    }
    return &choice;
}

uint32_t cnrt_front_current_device(void)
{
    return choice_get()->device;
}

void cnrt_front_current_device_set(uint32_t ordinal)
{
    struct choice *mine = choice_get();

    mine->device = ordinal;
    mine->channel = CNRT_CHANNEL_NONE;
}

int cnrt_front_channel(void)
{
    return choice_get()->channel;
}

void cnrt_front_channel_set(int channel)
{
    choice_get()->channel = channel;
}

void ntk_cnrt_say(const char *library, const char *sentence)
{
    struct ntk_quiet quiet;

    ntk_quiet_enter(&quiet);
    (void)fprintf(stderr, "%s: %s\n", library, sentence);
    ntk_quiet_leave(&quiet);
}

static void say(const char *sentence)
{
    ntk_cnrt_say("cnrt", sentence);
}

int cnrt_front_fail(const char *function, int error, const struct ntk_err *err)
{
    char text[NTK_ERR_TEXT_BYTES + 32];
    char line[sizeof text + 64];

    (void)snprintf(line, sizeof line, "%s: %s", function, ntk_err_format(err, text, sizeof text));
    say(line);
    return cnrt_code_from_error(error);
}

/* Finds the devices. Clusters of one device are consecutive cores of the process; a partly held
 * device has fewer. */
static void devices_find(void)
{
    uint32_t per_device = ntk_core_machine_get(core)->cores_per_device / ntk_core_lnc(core);
    uint32_t last = UINT32_MAX;

    device_count = 0;
    for (uint32_t nc = 0; nc < ntk_core_count(core); nc++) {
        uint32_t device = ntk_core_global(core, nc) / per_device;

        if (device != last) {
            if (device_count == CNRT_DEVICES_MAX) {
                return;
            }
            devices[device_count].first_nc = nc;
            devices[device_count].nc_count = 0;
            atomic_store(&devices[device_count].queue_count, 0);
            device_count++;
            last = device;
        }
        devices[device_count - 1].nc_count++;
    }
}

/* The caller holds lifecycle and gate. */
static int devices_open(void)
{
    struct ntk_core_options options = { 0 };
    struct ntk_err err = { 0 };
    int ret = cnrt_env_options_get(&options, &err);

    options.runtime_version = CNRT_VERSION_TEXT;
    options.warn = say;
    options.shortage_off = true; /* the code is a sufficient report */
    ret = ret < 0 ? ret : ntk_core_open(&options, &core, &err);
    if (ret < 0) {
        return cnrt_front_fail("cnrtInit", ret, &err);
    }
    uint32_t workers = ntk_core_count(core) + COPIERS;
    crew = ntk_core_crew_create(workers < WORKERS_MAX ? workers : WORKERS_MAX);
    if (!crew) {
        ntk_core_close(core);
        core = NULL;
        return CNRT_ERR_NOMEM;
    }
    devices_find();
    return CNRT_OK;
}

int cnrt_front_open(bool is_fake)
{
    int code = CNRT_OK;

    pthread_once(&fork_handler, fork_handler_install);
    if (ntk_core_crew_is_worker()) {
        return CNRT_ERR_FUNC_CALL;
    }
    pthread_mutex_lock(&lifecycle);
    if (state == STATE_CLOSED) {
        struct ntk_quiet quiet;

        ntk_quiet_enter(&quiet);
        pthread_rwlock_wrlock(&gate);
        code = is_fake ? CNRT_OK : devices_open();
        if (code == CNRT_OK) {
            state = is_fake ? STATE_FAKE : STATE_OPEN;
            epoch++;
        }
        pthread_rwlock_unlock(&gate);
        ntk_quiet_leave(&quiet);
    }
    pthread_mutex_unlock(&lifecycle);
    return code;
}

void cnrt_front_close(void)
{
    if (ntk_core_crew_is_worker()) {
        return;
    }
    pthread_mutex_lock(&lifecycle);
    if (state == STATE_OPEN) {
        struct ntk_quiet quiet;

        ntk_quiet_enter(&quiet);
        /* Queued items run to their end; waiting threads return. */
        ntk_core_crew_stop(crew);
        pthread_rwlock_wrlock(&gate);
        cnrt_contexts_close_all();
        cnrt_models_close_all();
        cnrt_programs_close_all();
        cnrt_notifiers_close_all();
        cnrt_queues_close_all();
        ntk_core_crew_destroy(crew);
        cnrt_memory_free_all();
        ntk_core_close(core);
        crew = NULL;
        core = NULL;
        device_count = 0;
        state = STATE_CLOSED;
        pthread_rwlock_unlock(&gate);
        ntk_quiet_leave(&quiet);
    } else if (state == STATE_FAKE) {
        pthread_rwlock_wrlock(&gate);
        state = STATE_CLOSED;
        pthread_rwlock_unlock(&gate);
    }
    pthread_mutex_unlock(&lifecycle);
}

int ntk_cnrt_open(void)
{
    return cnrt_front_open(false);
}

void ntk_cnrt_close(void)
{
    cnrt_front_close();
}

int ntk_cnrt_is_open(void)
{
    int entered = cnrt_front_enter();

    if (entered == CNRT_OK) {
        pthread_rwlock_unlock(&gate);
    }
    return entered == CNRT_OK;
}
