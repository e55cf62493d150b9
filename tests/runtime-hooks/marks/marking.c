/* SPDX-License-Identifier: MIT */
/*
 * marking [LIBRARY [WAIT_S]] - marks five steps and some moments. It has the runtime only once it
 * has opened it, with private symbols, as plug-ins do. Compiled as C and as C++.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "neuron/marks.h"

static int call(void *library, const char *name, int is_init)
{
    void *symbol = dlsym(library, name);
    int (*init)(int, const char *, const char *);
    void (*close)(void);

    if (!symbol) {
        return 1;
    }
    memcpy(&init, &symbol, sizeof init);
    memcpy(&close, &symbol, sizeof close);
    if (is_init) {
        return init(1, "", "");
    }
    close();
    return 0;
}

int main(int argc, char **argv)
{
    char long_name[1000];
    void *library = NULL;

    neuron_mark("early", 1); /* no listener exists yet */
    if (argc > 1) {
        library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (!library || call(library, "nrt_init", 1) != 0) {
            (void)fprintf(stderr, "marking: %s does not start\n", argv[1]);
            return 1;
        }
    }
    for (uint64_t step = 1; step <= 5; step++) {
#ifdef __cplusplus
        neuron::range range("step", step);

        (void)usleep(2000);
#else
        uint64_t began = neuron_mark_begin();

        (void)usleep(2000);
        neuron_mark_end(began, "step", step);
#endif
    }
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    neuron_mark(long_name, 0);
    neuron_mark("a\nline \033[31mred \xff", 7);
    neuron_mark("largest", UINT64_MAX);
    neuron_mark(NULL, 1);
    if (argc > 2) {
        (void)sleep((unsigned)atoi(argv[2]));
    }
    return library ? call(library, "nrt_close", 0) : 0;
}
