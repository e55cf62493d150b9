/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/interpose/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "shared/formats/elf/elf_file.h"

/* How long a fork waits for a thread that opens the library: 2 s. It may wait for us, in a
 * constructor that forks. */
#define FORK_PAUSE_NS 1000000
#define FORK_PAUSES 2000

#define SAY_PARTS 8

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

/* A library as it was found, until the first of them is published. */
struct library {
    bool is_open;
    bool is_form_2;
    interpose_function functions[INTERPOSE_CALLS]; /* NULL: it has none */
};

/* Held while words are copied and nothing else: threads that come first each open the library,
 * which the loader puts in an order, and find the same. So nobody waits for the loader with a lock
 * of ours, neither a thread that is in a constructor nor the child of a fork. */
static pthread_mutex_t publishing = PTHREAD_MUTEX_INITIALIZER;
static bool is_published; /* one that is open */

/* Threads that are opening the library, and whether this one is. */
static uint32_t opening_count;
static __thread bool is_opening __attribute__((tls_model("initial-exec")));

/* What the file exports, a bit per call. */
static uint64_t file_calls[(INTERPOSE_CALLS + 63) / 64];
static uint32_t file_is_read;

static interpose_function absent_get(enum interpose_call call)
{
    return interpose_absent_2[call] ? interpose_absent_2[call] : interpose_absent_3[call];
}

/* The first sentence of the process; its parts, up to NULL. No buffer: the first call may come from
 * a thread with a small stack. */
#define say(...) say_parts((const char *const[]){ "libneuron-hooks: ", __VA_ARGS__, "\n", NULL })
static void say_parts(const char *const *parts)
{
    static uint32_t was_said;
    struct iovec pieces[SAY_PARTS];
    int count = 0;

    if (__atomic_exchange_n(&was_said, 1, __ATOMIC_RELAXED) != 0) {
        return;
    }
    for (; count < SAY_PARTS && parts[count]; count++) {
        pieces[count] = (struct iovec){ (void *)parts[count], strlen(parts[count]) };
    }
    ssize_t ignored = writev(STDERR_FILENO, pieces, count);

    (void)ignored;
}

/* The library of the path, or NULL with the reason said. */
static void *library_open(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_GLOBAL);

    if (!library) {
        const char *reason = dlerror();

        say("cannot open the runtime behind the hooks: ", reason ? reason : path,
            "; every call fails (NEURON_HOOKS_LIBNRT names it)");
    }
    return library;
}

/* In the version of the call's form; what has no versions has one form. */
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

/* The first that is open stays; until then each call fails. */
static void publish(const struct library *library)
{
    pthread_mutex_lock(&publishing);
    if (!is_published) {
        interpose_real_is_form_2 = library->is_form_2;
        for (uint32_t i = 0; i < INTERPOSE_CALLS; i++) {
            interpose_function function = library->functions[i];

            __atomic_store_n(&interpose_real[i], function ? function : absent_get(i),
                             __ATOMIC_RELEASE);
        }
        is_published = library->is_open;
    }
    pthread_mutex_unlock(&publishing);
}

static void library_find(struct library *library)
{
    const char *named = secure_getenv("NEURON_HOOKS_LIBNRT");
    char path[PATH_MAX];
    void *handle;

    if (named && named[0] == '\0') {
        named = NULL;
    }
    if (!interpose_real_find(path)) {
        say("there is no libnrt.so.1 behind the hooks; every call fails (NEURON_HOOKS_LIBNRT ",
            named ? "is " : "names it", named ? named : "", named ? ", which is none)" : ")");
        return;
    }
    if (named && strcmp(named, path) != 0) {
        say(named, " is no libnrt.so.1 (NEURON_HOOKS_LIBNRT); the hooks stand around ", path);
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
        return absent_get(call); /* the library's own constructors call it, through us */
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

/* Where the file, loaded at base, has the call; 0: nowhere, or where the loader would have to
 * ask. */
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

bool interpose_real_has(enum interpose_call call)
{
    return interpose_real_get(call) != absent_get(call);
}

/* Two threads that come first both read; they find the same. */
static bool file_read(void)
{
    struct ntk_elf_export export;
    struct ntk_elf_file file;
    char path[PATH_MAX];

    if (!interpose_real_find(path) || ntk_elf_file_open(&file, path) < 0) {
        return false;
    }
    for (uint32_t i = 0; i < INTERPOSE_CALLS; i++) {
        if (ntk_elf_file_find(&file, interpose_calls[i].name, interpose_calls[i].version,
                              &export)) {
            (void)__atomic_fetch_or(&file_calls[i / 64], (uint64_t)1 << i % 64, __ATOMIC_RELAXED);
        }
    }
    ntk_elf_file_close(&file);
    __atomic_store_n(&file_is_read, 1u, __ATOMIC_RELEASE);
    return true;
}

bool interpose_real_file_has(enum interpose_call call)
{
    if (__atomic_load_n(&file_is_read, __ATOMIC_ACQUIRE) == 0 && !file_read()) {
        return true;
    }
    return (__atomic_load_n(&file_calls[call / 64], __ATOMIC_RELAXED) >> call % 64 & 1) != 0;
}
