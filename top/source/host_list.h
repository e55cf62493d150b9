/* SPDX-License-Identifier: MIT */
/*
 * host_list - holds the names of machines from --connect and --hosts. Owner: fini frees the
 * content. Threads: one.
 */
#ifndef NTK_TOP_SOURCE_HOST_LIST_H
#define NTK_TOP_SOURCE_HOST_LIST_H

#include <stddef.h>

#include "shared/base/err.h"

struct ntk_top_host_list {
    char **names;
    size_t count;
};

/* Copies the name; skips a name that already exists. -EINVAL: invalid, or too many. */
int ntk_top_host_list_add(struct ntk_top_host_list *list, const char *name, struct ntk_err *err);
/* Reads one name per line; # begins a comment. -ENODATA: no name. */
int ntk_top_host_list_read(struct ntk_top_host_list *list, const char *path, struct ntk_err *err);
void ntk_top_host_list_fini(struct ntk_top_host_list *list);

#endif
