/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/interpose/client/names.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#pragma GCC visibility push(default)
#define NRT_CALL(result, name, parameters, arguments) void name(void) __attribute__((weak));
#define NRT_CALL_3 NRT_CALL
#include "runtime-hooks/nrt/nrt_calls.def"
#pragma GCC visibility pop

static const struct {
    const char *name;
    const char *version;
    void (*function)(void); /* the loader writes it */
} rows[] = {
#define NRT_CALL(result, name, parameters, arguments) { #name, "NRT_2.0.0", name },
#define NRT_CALL_2(result, name, parameters, arguments) { #name, "NRT_2.0.0", NULL },
#define NRT_CALL_3(result, name, parameters, arguments) { #name, "NRT_3.0.0", name },
#include "runtime-hooks/nrt/nrt_calls.def"
};

void names_print_weak(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        printf("weak %s %d\n", rows[i].name, rows[i].function != NULL);
    }
    (void)fflush(stdout);
}

static void print(const char *how, size_t row, const void *symbol)
{
    const char *error = dlerror();

    printf("%s %s %s %d%s\n", how, rows[row].name, rows[row].version, symbol != NULL,
           error ? ", error" : "");
}

int names_print_symbols(void)
{
    void *library = dlopen("libnrt.so.1", RTLD_LAZY | RTLD_LOCAL);

    if (!library) {
        printf("%s\n", dlerror());
        return 1;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print("dlsym", i, dlsym(library, rows[i].name));
        print("dlvsym", i, dlvsym(library, rows[i].name, rows[i].version));
    }
    return fflush(stdout);
}
