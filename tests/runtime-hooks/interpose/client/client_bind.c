/* SPDX-License-Identifier: MIT */
/*
 * The client that opens its runtime itself.
 *
 *   soname        dlopen("libnrt.so.1"), dlsym
 *   vsym          the same, dlvsym under the version of each call
 *   path FILE     dlopen(FILE)
 *   global FILE   dlopen(FILE) with RTLD_GLOBAL
 *   space FILE    dlmopen of FILE into a separate namespace
 *   newer         soname, and a call that is newer than our tables
 *   absent CALL   soname, and a call that this runtime lacks: dlsym finds none
 *   plugin FILE   dlopen(FILE), a client linked with the runtime, RTLD_LOCAL | RTLD_DEEPBIND
 *   spaced FILE   dlmopen of that FILE into a separate namespace
 */
#include "tests/runtime-hooks/interpose/client/client.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/interpose/vendor/newer_call.h"

#define SONAME "libnrt.so.1"

struct client_table client_table;

static const char *opened_name = SONAME;
static int opened_flags = RTLD_NOW;
static const char *node;
static void *handle;

static void *call_find(const char *name, const char *version)
{
    return node ? dlvsym(handle, name, version) : dlsym(handle, name);
}

static void library_take(void *library)
{
    handle = library;
    if (!handle) {
        (void)fprintf(stderr, "client: %s\n", dlerror());
        exit(1);
    }
#define FIND(name) *(void **)&client_table.name = call_find(#name, "NRT_2.0.0")
    CLIENT_CALLS(FIND);
#undef FIND
#define FIND(name) *(void **)&client_table.name = call_find(#name, CLIENT_NODE)
    CLIENT_ASYNC_CALLS(FIND);
#undef FIND
}

void client_reopen(void)
{
    if (dlclose(handle) != 0) {
        client_fail("dlclose", 0);
    }
    library_take(dlopen(opened_name, opened_flags));
}

static int plugin_run(void *plugin, int argc, char **argv)
{
    int (*plugin_main)(int, char **) = NULL;

    if (plugin) {
        *(void **)&plugin_main = dlsym(plugin, "client_main");
    }
    if (!plugin_main) {
        (void)fprintf(stderr, "client: %s\n", dlerror());
        return 1;
    }
    return plugin_main(argc, argv);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    const char *file = argc > 2 ? argv[2] : "";
    int used = 2; /* how, file */

    if (strcmp(how, "plugin") == 0) {
        return plugin_run(dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND), argc - used,
                          argv + used);
    }
    if (strcmp(how, "spaced") == 0) {
        return plugin_run(dlmopen(LM_ID_NEWLM, file, RTLD_LAZY), argc - used, argv + used);
    }
    if (strcmp(how, "path") == 0) {
        opened_name = file;
    } else if (strcmp(how, "global") == 0) {
        opened_name = file;
        opened_flags |= RTLD_GLOBAL;
    } else if (strcmp(how, "vsym") == 0) {
        node = CLIENT_NODE;
        used = 1;
    } else if (strcmp(how, "soname") == 0 || strcmp(how, "newer") == 0) {
        used = 1;
    } else if (strcmp(how, "space") != 0 && strcmp(how, "absent") != 0) {
        (void)fprintf(stderr, "client: the runtime is reached by no way called '%s'\n", how);
        return 2;
    }
    library_take(strcmp(how, "space") == 0 ? dlmopen(LM_ID_NEWLM, file, opened_flags)
                                           : dlopen(opened_name, opened_flags));
    if (strcmp(how, "newer") == 0) {
        __typeof__(nrt_newer_call) *newer = NULL;

        *(void **)&newer = dlsym(handle, "nrt_newer_call");
        printf("nrt_newer_call %d\n", newer ? newer(1) : -1);
        (void)fflush(stdout);
    }
    if (strcmp(how, "absent") == 0) {
        printf("%s is %s\n", file, dlsym(handle, file) ? "there" : "absent");
        (void)fflush(stdout);
    }
    return client_main(argc - used, argv + used);
}
