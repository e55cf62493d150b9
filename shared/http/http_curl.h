/* SPDX-License-Identifier: MIT */
/*
 * http_curl - libcurl, loaded by the first client.
 *
 * It brings about 20 further libraries. Linked, they take 3 ms of CPU at each start of a program,
 * and 1.7 MiB of an agent that sends nothing. A build with a static libcurl links it instead.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_HTTP_HTTP_CURL_H
#define NTK_SHARED_HTTP_HTTP_CURL_H

#include <curl/curl.h>

#include "shared/base/err.h"

/* X(name) for each curl_<name> that we call. */
#define HTTP_CURL_FUNCTIONS(X) \
    X(global_init)             \
    X(version_info)            \
    X(easy_init)               \
    X(easy_setopt)             \
    X(easy_getinfo)            \
    X(easy_reset)              \
    X(easy_strerror)           \
    X(easy_cleanup)            \
    X(slist_append)            \
    X(slist_free_all)          \
    X(multi_init)              \
    X(multi_setopt)            \
    X(multi_add_handle)        \
    X(multi_perform)           \
    X(multi_poll)              \
    X(multi_wakeup)            \
    X(multi_info_read)         \
    X(multi_remove_handle)     \
    X(multi_cleanup)

struct http_curl {
#define MEMBER(name) __typeof__(curl_##name) *name;
    HTTP_CURL_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Valid after http_curl_load() returned 0. */
extern struct http_curl http_curl;

/* Loads the library once. Returns 0, or -ELIBACC with a message, each time. */
int http_curl_load(struct ntk_err *err);

#endif
