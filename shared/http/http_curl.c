/* SPDX-License-Identifier: MIT */
#include "shared/http/http_curl.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static struct ntk_err load_error;

#ifdef NTK_CURL_IS_STATIC

struct http_curl http_curl = {
#define MEMBER(name) .name = curl_##name,
    HTTP_CURL_FUNCTIONS(MEMBER)
#undef MEMBER
};

static void load(void)
{
    http_curl.global_init(CURL_GLOBAL_DEFAULT);
}

#else

struct http_curl http_curl;

static const struct {
    const char *name;
    size_t offset; /* in struct http_curl */
} functions[] = {
#define FUNCTION(name) { "curl_" #name, offsetof(struct http_curl, name) },
    HTTP_CURL_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

static void load(void)
{
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) { /* the name of Debian's second build of it */
        library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
    }
    bool has_all = library != NULL;

    for (size_t i = 0; i < sizeof functions / sizeof *functions && has_all; i++) {
        void *function = dlsym(library, functions[i].name);
        memcpy((char *)&http_curl + functions[i].offset, &function, sizeof function);
        has_all = function != NULL;
    }
    if (has_all) {
        http_curl.global_init(CURL_GLOBAL_DEFAULT);
        return;
    }
    const char *reason = dlerror();
    ntk_err_set(&load_error, -ELIBACC, NTK_ERR_NO_OFFSET, "cannot load libcurl: %s",
                reason ? reason : "a function is missing");
}

#endif

int http_curl_load(struct ntk_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    if (load_error.code && err) {
        *err = load_error;
    }
    return load_error.code;
}
