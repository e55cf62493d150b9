/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/interpose/real.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/formats/elf/elf_file.h"

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
/* Where nrt_init of the library behind us is, to know it by; 0: nobody is. */
static uintptr_t real_init;

/* Recursive: the library's own constructors may call it, through us. */
static pthread_mutex_t opening = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* What the file exports, a bit per call. */
static uint64_t file_calls[(INTERPOSE_CALLS + 63) / 64];
static uint32_t file_is_read;

static interpose_function absent_get(enum interpose_call call)
{
    return interpose_absent_2[call] ? interpose_absent_2[call] : interpose_absent_3[call];
}

static void say(const char *text)
{
    static uint32_t was_said;

    if (__atomic_exchange_n(&was_said, 1, __ATOMIC_RELAXED) == 0) {
        ssize_t ignored = write(STDERR_FILENO, text, strlen(text));

        (void)ignored;
    }
}

/* The library of the path, or NULL with the reason said. */
static void *library_open(const char *path)
{
    char text[PATH_MAX + 512];
    void *library = dlopen(path, RTLD_LAZY | RTLD_GLOBAL);

    if (!library) {
        (void)snprintf(
            text, sizeof text,
            "libneuron-hooks: cannot open the runtime behind the hooks: %s; every call fails "
            "(NEURON_HOOKS_LIBNRT names it)\n",
            dlerror());
        say(text);
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

static void call_set(uint32_t call, interpose_function function)
{
    __atomic_store_n(&interpose_real[call], function ? function : absent_get(call),
                     __ATOMIC_RELEASE);
}

static void calls_find(void *library, const char *path)
{
    struct ntk_elf_file file;

    (void)ntk_elf_file_open(&file, path);
    interpose_real_is_form_2 = is_form_2(&file);
    for (uint32_t i = 0; i < INTERPOSE_CALLS; i++) {
        call_set(i, symbol_get(library, &file, &interpose_calls[i]));
    }
    real_init = (uintptr_t)interpose_real[CALL_nrt_init];
    ntk_elf_file_close(&file);
}

interpose_function interpose_real_open(enum interpose_call call)
{
    static bool is_opening;
    char path[PATH_MAX];
    interpose_function function;

    pthread_mutex_lock(&opening);
    function = interpose_real[call];
    if (!function && is_opening) {
        function = absent_get(call);
    } else if (!function) {
        void *library = NULL;

        is_opening = true;
        if (interpose_real_find(path)) {
            library = library_open(path);
        } else {
            say("libneuron-hooks: there is no libnrt.so.1 behind the hooks; every call fails "
                "(NEURON_HOOKS_LIBNRT names it)\n");
        }
        if (library) {
            calls_find(library, path);
        } else {
            for (uint32_t i = 0; i < INTERPOSE_CALLS; i++) {
                call_set(i, NULL);
            }
        }
        is_opening = false;
        function = interpose_real[call];
    }
    pthread_mutex_unlock(&opening);
    return function;
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
    struct ntk_elf_file file;
    bool is_ours = false;

    if (ntk_elf_file_open(&file, path) < 0) {
        return false;
    }
    uintptr_t init = call_address(&file, base, &interpose_calls[CALL_nrt_init]);
    pthread_mutex_lock(&opening);
    if (!interpose_real[CALL_nrt_init]) {
        interpose_real_is_form_2 = is_form_2(&file);
        for (uint32_t i = 0; i < INTERPOSE_CALLS; i++) {
            uintptr_t address = call_address(&file, base, &interpose_calls[i]);
            interpose_function function;

            memcpy(&function, &address, sizeof function);
            call_set(i, function);
        }
        real_init = init;
    }
    is_ours = real_init == init;
    pthread_mutex_unlock(&opening);
    ntk_elf_file_close(&file);
    return is_ours;
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
