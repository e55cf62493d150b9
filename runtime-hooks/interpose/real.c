/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/interpose/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime-hooks/interpose/exports.h"
#include "runtime-hooks/interpose/say.h"
#include "shared/formats/elf/elf_file.h"

#include "runtime-hooks/interpose/early.h"

/* A fork waits at most 2 s for a thread that opens the library, because that thread may wait for
 * the fork, in a constructor that forks. */
#define FORK_PAUSE_NS 1000000
#define FORK_PAUSES 2000

const struct interpose_call_row interpose_calls[INTERPOSE_CALLS] = {
#define NRT_CALL(result, name, parameters, arguments) [CALL_##name] = { #name, INTERPOSE_NODE_2 },
#define NRT_CALL_2(result, name, parameters, arguments) \
    [CALL_2_##name] = { #name, INTERPOSE_NODE_2 },
#define NRT_CALL_3(result, name, parameters, arguments) \
    [CALL_3_##name] = { #name, INTERPOSE_NODE_3 },
#include "runtime-hooks/nrt/nrt_calls.def"
};

interpose_function interpose_real[INTERPOSE_CALLS];
bool interpose_real_is_form_2;

/* A library that a thread found before any was published. */
struct library {
    bool is_open;
    bool is_form_2;
    interpose_function functions[INTERPOSE_CALLS]; /* NULL for a missing call */
};

/* Held only while words are copied: several first threads each open the library and find the same
 * one, because the loader serialises them. So no thread waits for the loader while it holds this
 * lock, neither in a constructor nor in the child of a fork. */
static pthread_mutex_t publishing = PTHREAD_MUTEX_INITIALIZER;
static bool is_published; /* true once a library is open */

/* Number of threads that are opening the library; true while this thread is. */
static uint32_t opening_count;
static __thread bool is_opening __attribute__((tls_model("initial-exec")));

/* Path of the library that the exported names represent, once it is certain to be opened. */
static char decided_path[PATH_MAX];
static uint32_t is_decided;

static interpose_function absent_get(enum interpose_call call)
{
    return interpose_absent_2[call] ? interpose_absent_2[call] : interpose_absent_3[call];
}

/* Set after the first message; only that message is printed. */
static uint32_t was_said;
#define say(...)                                                        \
    do {                                                                \
        if (__atomic_exchange_n(&was_said, 1, __ATOMIC_RELAXED) == 0) { \
            INTERPOSE_SAY(__VA_ARGS__);                                 \
        }                                                               \
    } while (0)

/* Opens the library at the path; returns NULL after printing the reason. */
static void *library_open(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_GLOBAL);

    if (!library) {
        const char *reason = dlerror();

        say("cannot open the wrapped runtime: ", reason ? reason : path,
            "; every call fails (set NEURON_HOOKS_LIBNRT)");
    }
    return library;
}

/* Finds a call in the version of its form; a library without versions has one form. */
static interpose_function symbol_get(void *library, const struct ntk_elf_file *file,
                                     const struct interpose_call_row *call)
{
    void *symbol = dlvsym(library, call->name, call->version);
    interpose_function function;

    if (!symbol && !file->is_versioned) {
        symbol = dlsym(library, call->name);
    }
    memcpy(&function, &symbol, sizeof function);
    return function;
}

static bool is_form_2(const struct ntk_elf_file *file)
{
    struct ntk_elf_export export;

    return !file->is_versioned &&
           ntk_elf_file_find(file, "nrta_error_tracker_create", NULL, &export);
}

static void calls_find(void *handle, const char *path, struct library *library)
{
    struct ntk_elf_file file;

    (void)ntk_elf_file_open(&file, path);
    library->is_open = true;
    library->is_form_2 = is_form_2(&file);
    for (uint32_t i = 0; i < INTERPOSE_CALLS; i++) {
        library->functions[i] = symbol_get(handle, &file, &interpose_calls[i]);
    }
    ntk_elf_file_close(&file);
}

static void absent_add(struct interpose_absent *absent, uint32_t call)
{
    absent->words[call / 64] |= (uint64_t)1 << call % 64;
}

/* Publishes the first open library; until then every call fails. */
static void publish(const struct library *library)
{
    struct interpose_absent absent = { 0 };

    pthread_mutex_lock(&publishing);
    if (!is_published) {
        interpose_real_is_form_2 = library->is_form_2;
        for (uint32_t i = 0; i < INTERPOSE_CALLS; i++) {
            interpose_function function = library->functions[i];

            __atomic_store_n(&interpose_real[i], function ? function : absent_get(i),
                             __ATOMIC_RELEASE);
            if (!function) {
                absent_add(&absent, i);
            }
        }
        __atomic_store_n(&is_published, library->is_open, __ATOMIC_RELEASE);
        if (library->is_open) {
            interpose_exports_show(&absent, true);
        }
    }
    pthread_mutex_unlock(&publishing);
}

static void library_find(struct library *library)
{
    const char *named = early_getenv("NEURON_HOOKS_LIBNRT");
    bool is_certain;
    char path[PATH_MAX];
    void *handle;

    if (named && named[0] == '\0') {
        named = NULL;
    }
    if (__atomic_load_n(&is_decided, __ATOMIC_ACQUIRE) != 0) {
        memcpy(path, decided_path, sizeof path);
    } else if (!interpose_real_find(path, &is_certain)) {
        say("no libnrt.so.1 to wrap; every call fails (NEURON_HOOKS_LIBNRT ",
            named ? "is " : "is not set", named ? named : "",
            named ? ", which is not a libnrt.so.1)" : ")");
        return;
    }
    if (named && strcmp(named, path) != 0) {
        say(named, " is not a libnrt.so.1 (NEURON_HOOKS_LIBNRT); the hooks wrap ", path);
    }
    handle = library_open(path);
    if (handle) {
        calls_find(handle, path, library);
    }
}

interpose_function interpose_real_open(enum interpose_call call)
{
    struct library library = { 0 };
    int error = errno;
    int cancel_state;

    if (is_opening) {
        return absent_get(call); /* called by a constructor of the library through this one */
    }
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    interpose_fork_watch();
    is_opening = true;
    (void)__atomic_fetch_add(&opening_count, 1, __ATOMIC_SEQ_CST);
    library_find(&library);
    publish(&library);
    (void)__atomic_fetch_sub(&opening_count, 1, __ATOMIC_SEQ_CST);
    is_opening = false;
    (void)pthread_setcancelstate(cancel_state, NULL);
    errno = error;
    return __atomic_load_n(&interpose_real[call], __ATOMIC_ACQUIRE);
}

void interpose_real_before_fork(void)
{
    static const struct timespec pause = { .tv_nsec = FORK_PAUSE_NS };
    int cancel_state;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    for (uint32_t i = 0;
         i < FORK_PAUSES && !is_opening && __atomic_load_n(&opening_count, __ATOMIC_SEQ_CST) != 0;
         i++) {
        (void)nanosleep(&pause, NULL);
    }
    (void)pthread_setcancelstate(cancel_state, NULL);
}

void interpose_real_after_fork(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    memcpy(&publishing, &fresh, sizeof fresh);
    opening_count = is_opening;
}

/* Returns the address of the call in the file, loaded at `base`; 0 if it is missing or an indirect
 * function. */
static uintptr_t call_address(const struct ntk_elf_file *file, uintptr_t base,
                              const struct interpose_call_row *call)
{
    struct ntk_elf_export export;

    return ntk_elf_file_find(file, call->name, call->version, &export) && !export.is_indirect
               ? base + export.address
               : 0;
}

bool interpose_real_adopt(const char *path, uintptr_t base)
{
    struct library library = { 0 };
    struct ntk_elf_file file;

    if (ntk_elf_file_open(&file, path) < 0) {
        return false;
    }
    for (uint32_t i = 0; i < INTERPOSE_CALLS; i++) {
        uintptr_t address = call_address(&file, base, &interpose_calls[i]);

        memcpy(&library.functions[i], &address, sizeof address);
    }
    library.is_form_2 = is_form_2(&file);
    ntk_elf_file_close(&file);
    library.is_open = library.functions[CALL_nrt_init] != NULL;
    if (!library.is_open) {
        return false;
    }
    publish(&library);
    return library.functions[CALL_nrt_init] ==
           __atomic_load_n(&interpose_real[CALL_nrt_init], __ATOMIC_ACQUIRE);
}

static int loads_count(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    *(uint64_t *)context = info->dlpi_adds;
    return 1;
}

#define NAME_BUCKETS 256

static uint32_t name_bucket(const char *name)
{
    uint32_t hash = 0;

    for (; *name != '\0'; name++) {
        hash = hash * 31 + (uint8_t)*name;
    }
    return hash % NAME_BUCKETS;
}

/* Finds the calls in one pass over the exports of the file, because every program with this preload
 * waits for it. */
static void file_calls(const struct ntk_elf_file *file, struct interpose_absent *out_absent)
{
    uint16_t first[NAME_BUCKETS] = { 0 }; /* number of the call + 1 */
    uint16_t next[INTERPOSE_CALLS];
    struct ntk_elf_export export;

    for (uint32_t i = 0; i < INTERPOSE_CALLS; i++) {
        uint32_t bucket = name_bucket(interpose_calls[i].name);

        absent_add(out_absent, i);
        next[i] = first[bucket];
        first[bucket] = (uint16_t)(i + 1);
    }
    for (size_t s = 0; s < file->symbol_count; s++) {
        if (!ntk_elf_file_export(file, s, &export)) {
            continue;
        }
        for (uint32_t i = first[name_bucket(export.name)]; i != 0; i = next[i - 1]) {
            const struct interpose_call_row *call = &interpose_calls[i - 1];

            if (strcmp(call->name, export.name) == 0 &&
                (!file->is_versioned || strcmp(call->version, export.version) == 0)) {
                out_absent->words[(i - 1) / 64] &= ~((uint64_t)1 << (i - 1) % 64);
            }
        }
    }
}

/* Reads the file; if two threads do so at the same time, they get the same result. Returns false
 * without a library. */
static bool file_look(bool is_taken)
{
    struct interpose_absent absent = { 0 };
    struct ntk_elf_file file;
    bool is_certain;
    char path[PATH_MAX];
    bool is_found = interpose_real_find(path, &is_certain) && ntk_elf_file_open(&file, path) == 0;

    if (is_found) {
        file_calls(&file, &absent);
        ntk_elf_file_close(&file);
    }
    is_certain = is_found && (is_certain || is_taken);
    bool is_shared = early_is_over();
    if (is_shared) {
        pthread_mutex_lock(&publishing);
    }
    if (!is_published && is_decided == 0) {
        interpose_exports_show(&absent, is_certain);
        if (is_certain) {
            memcpy(decided_path, path, sizeof path);
            __atomic_store_n(&is_decided, 1u, __ATOMIC_RELEASE);
        }
    }
    if (is_shared) {
        pthread_mutex_unlock(&publishing);
    }
    return is_found;
}

void interpose_real_look(bool is_asked)
{
    static uint64_t seen_loads;
    static uint32_t was_found;
    uint64_t loads = 0;
    int error = errno;
    int cancel_state;

    if (__atomic_load_n(&is_published, __ATOMIC_ACQUIRE) ||
        __atomic_load_n(&is_decided, __ATOMIC_ACQUIRE) != 0) {
        return;
    }
    if (!early_is_over()) {
        (void)file_look(false);
        errno = error;
        return;
    }
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    (void)dl_iterate_phdr(loads_count, &loads);
    bool is_new = __atomic_exchange_n(&seen_loads, loads, __ATOMIC_ACQ_REL) != loads;
    if (is_new || (is_asked && __atomic_load_n(&was_found, __ATOMIC_RELAXED) != 0)) {
        __atomic_store_n(&was_found, file_look(!is_new), __ATOMIC_RELAXED);
    }
    (void)pthread_setcancelstate(cancel_state, NULL);
    errno = error;
}
