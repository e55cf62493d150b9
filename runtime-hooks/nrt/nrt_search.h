/* SPDX-License-Identifier: MIT */
/*
 * nrt_search - finds the libnrt.so.1 that a program would load, without loading it.
 *
 * Threads: one at a time.
 */
#ifndef NTK_RUNTIME_HOOKS_NRT_NRT_SEARCH_H
#define NTK_RUNTIME_HOOKS_NRT_NRT_SEARCH_H

#include <limits.h>
#include <stdbool.h>

#define NTK_NRT_SONAME "libnrt.so.1"
#define NTK_NRT_VENDOR_FOLDER "/opt/aws/neuron/lib"
#define NTK_NRT_HOOKS_MARKER "neuron_hooks_marker" /* exported by the hooks and their copies */

/* The default folders of loaders, as built by distributions. */
#if defined(__aarch64__)
#define NTK_NRT_MULTIARCH "aarch64-linux-gnu"
#else
#define NTK_NRT_MULTIARCH "x86_64-linux-gnu"
#endif
#define NTK_NRT_LOADER_FOLDERS \
    "/lib/" NTK_NRT_MULTIARCH ":/usr/lib/" NTK_NRT_MULTIARCH ":/lib64:/usr/lib64:/lib:/usr/lib"

struct ntk_nrt_search {
    const char *program;       /* file of the program, for $ORIGIN in paths */
    const char *paths;         /* DT_RUNPATH or DT_RPATH of the program; NULL if none */
    bool paths_come_first;     /* true for a DT_RPATH, which is searched before LD_LIBRARY_PATH */
    const char *vendor_folder; /* NULL for NTK_NRT_VENDOR_FOLDER */
    /* true: before the cache and folders of the loader; false: after them */
    bool vendor_comes_first;
    bool skips_software; /* ignore the software runtime, wherever it is installed */
    const char *hooks;   /* file of the hooks, which has the same soname; NULL if none */
};

/* Searches in the order of the loader: the program's DT_RPATH, LD_LIBRARY_PATH, its DT_RUNPATH,
 * the loader's cache, its default folders. */
bool ntk_nrt_search(const struct ntk_nrt_search *search, char out_path[PATH_MAX]);

/* Returns true if the file is a runtime, and neither the hooks nor a copy. */
bool ntk_nrt_is_runtime(const char *path, const char *hooks);
/* Returns true if the file is the runtime of this project, which computes on software
 * NeuronCores. */
bool ntk_nrt_is_software(const char *path);
/* Returns true if the runtime exports calls that the hooks lack, as later releases may. */
bool ntk_nrt_has_more(const char *path, const char *hooks);

#endif
