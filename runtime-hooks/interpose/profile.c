/* SPDX-License-Identifier: MIT */
/*
 * profile - observes captures: the file or folder that the runtime writes, its start and stop, and
 * its size.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime-hooks/interpose/model.h"

#define CAPTURES 64 /* maximum number of simultaneous captures; further captures are not observed */

struct capture {
    uint64_t key; /* 0 for a free entry */
    uint32_t generation;
    uint64_t session; /* session number in the hooks, from 1 */
    struct ntk_hooks_model_ref model;
    uint16_t core;
    uint32_t name;
    uint64_t start_ticks;
};

/* The kind of key that identifies a capture: its file, its core, the runtime's session, or the only
 * inspection. */
enum key_kind {
    KEY_FILE = 1,
    KEY_CORE,
    KEY_SESSION,
    KEY_INSPECTION,
};

static struct capture captures[CAPTURES];
static uint64_t sessions;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t key_make(enum key_kind kind, uint64_t what)
{
    return (uint64_t)kind << 60 | (what & ((1ull << 60) - 1));
}

static uint64_t file_key(const char *filename)
{
    uint64_t hash = 14695981039346656037ull;

    for (; filename && *filename != '\0'; filename++) {
        hash = (hash ^ (unsigned char)*filename) * 1099511628211ull;
    }
    return key_make(KEY_FILE, hash);
}

/* Finds a capture. The caller holds the lock. */
static struct capture *capture_find(uint64_t key)
{
    for (size_t i = 0; i < CAPTURES; i++) {
        if (captures[i].key == key) {
            return &captures[i];
        }
    }
    return NULL;
}

static void capture_begin(const struct interpose_scope *scope, uint64_t key,
                          struct ntk_hooks_model_ref model, uint16_t core, const char *path)
{
    pthread_mutex_lock(&lock);
    struct capture *capture = capture_find(key);
    if (!capture) {
        capture = capture_find(0);
    }
    if (capture) {
        *capture = (struct capture){
            .key = key,
            .generation = scope->generation,
            .session = ++sessions,
            .model = model,
            .core = core,
            .name = ntk_hooks_name(path),
        };
        capture->start_ticks =
            ntk_hooks_profile_start(model, core, capture->session, capture->name);
    }
    pthread_mutex_unlock(&lock);
}

static uint64_t file_bytes(const char *path)
{
    struct stat status;

    return path && stat(path, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size
                                                                       : 0;
}

/* Ends a capture. path: where it was written, if unknown at the start; else NULL. */
static void capture_end(const struct interpose_scope *scope, uint64_t key, const char *path,
                        uint64_t bytes, NRT_STATUS status)
{
    struct capture capture = { 0 };

    pthread_mutex_lock(&lock);
    struct capture *found = capture_find(key);
    if (found) {
        capture = *found;
        found->key = 0;
    }
    pthread_mutex_unlock(&lock);
    if (capture.key != 0 && capture.generation == scope->generation) {
        ntk_hooks_profile_stop(capture.model, capture.core, capture.session,
                               path ? ntk_hooks_name(path) : capture.name, capture.start_ticks,
                               bytes, (uint32_t)status);
    }
}

/* ---- captures of a model ---- */

NRT_STATUS observed_nrt_profile_start(nrt_model_t *model, const char *filename)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL(nrt_profile_start)(model, filename);
    struct interpose_model known;

    if (status == NRT_SUCCESS && interpose_is_on(&scope) && interpose_model_get(model, &known)) {
        capture_begin(&scope, file_key(filename), known.ref, known.core, filename);
    }
    return status;
}

NRT_STATUS observed_nrt_profile_stop(const char *filename)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL(nrt_profile_stop)(filename);

    if (interpose_is_on(&scope)) {
        capture_end(&scope, file_key(filename), NULL, file_bytes(filename), status);
    }
    return status;
}

/* ---- sessions of a core ---- */

NRT_STATUS observed_nrt_profile_session_start(int32_t vnc)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL(nrt_profile_session_start)(vnc);

    if (status == NRT_SUCCESS && interpose_is_on(&scope)) {
        capture_begin(&scope, key_make(KEY_CORE, (uint32_t)vnc), (struct ntk_hooks_model_ref){ 0 },
                      interpose_core_get(vnc), NULL);
    }
    return status;
}

/* The session is kept under the runtime's id until it is written or dropped. */
NRT_STATUS observed_nrt_profile_session_stop(int32_t vnc, uint64_t *session_id)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL(nrt_profile_session_stop)(vnc, session_id);

    if (status == NRT_SUCCESS && session_id && interpose_is_on(&scope)) {
        pthread_mutex_lock(&lock);
        struct capture *capture = capture_find(key_make(KEY_CORE, (uint32_t)vnc));
        if (capture) {
            capture->key = key_make(KEY_SESSION, *session_id);
        }
        pthread_mutex_unlock(&lock);
    }
    return status;
}

NRT_STATUS observed_nrt_profile_session_serialize(uint64_t session_id, const char *filename)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL(nrt_profile_session_serialize)(session_id, filename);

    if (interpose_is_on(&scope)) {
        capture_end(&scope, key_make(KEY_SESSION, session_id), filename, file_bytes(filename),
                    status);
    }
    return status;
}

NRT_STATUS observed_nrt_profile_session_drop(uint64_t session_id)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL(nrt_profile_session_drop)(session_id);

    if (interpose_is_on(&scope)) {
        capture_end(&scope, key_make(KEY_SESSION, session_id), NULL, 0, status);
    }
    return status;
}

/* ---- inspections ---- */

/* Begins an inspection; the final size of its folder is unknown. */
static void inspection_begin(const struct interpose_scope *scope)
{
    const char *folder = getenv("NEURON_RT_INSPECT_OUTPUT_DIR");

    capture_begin(scope, key_make(KEY_INSPECTION, 0), (struct ntk_hooks_model_ref){ 0 },
                  NTK_NO_CORE, folder);
}

NRT_STATUS observed_nrt_inspect_begin(void)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL(nrt_inspect_begin)();

    if (status == NRT_SUCCESS && interpose_is_on(&scope)) {
        inspection_begin(&scope);
    }
    return status;
}

NRT_STATUS observed_nrt_inspect_begin_with_options(nrt_inspect_config_t *options)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL(nrt_inspect_begin_with_options)(options);

    /* The options contain a folder that cannot be queried. */
    if (status == NRT_SUCCESS && interpose_is_on(&scope)) {
        capture_begin(&scope, key_make(KEY_INSPECTION, 0), (struct ntk_hooks_model_ref){ 0 },
                      NTK_NO_CORE, NULL);
    }
    return status;
}

NRT_STATUS observed_nrt_inspect_stop(void)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL(nrt_inspect_stop)();

    if (interpose_is_on(&scope)) {
        capture_end(&scope, key_make(KEY_INSPECTION, 0), NULL, 0, status);
    }
    return status;
}

void interpose_captures_after_fork(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    memcpy(&lock, &fresh, sizeof fresh);
    memset(captures, 0, sizeof captures);
}
