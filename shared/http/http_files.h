/* SPDX-License-Identifier: MIT */
/*
 * http_files - serves the files of a page, which are part of the program, with their types,
 * compressed if the browser accepts that. The security policy allows a page to load only resources
 * from this server.
 *
 * Owner: create / destroy; the table is borrowed for that time. Threads: any, after create.
 */
#ifndef NTK_SHARED_HTTP_HTTP_FILES_H
#define NTK_SHARED_HTTP_HTTP_FILES_H

#include "shared/http/http_server.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A row of the table that cmake/ntk_embed.cmake generates. */
struct ntk_http_file {
    const char *name;
    const unsigned char *bytes;
    size_t bytes_count;
};

#define NTK_HTTP_FILES_MAX 64

struct ntk_http_files;

/* The table ends with a NULL name. Returns NULL if out of memory, or if there are more than
 * NTK_HTTP_FILES_MAX files. */
struct ntk_http_files *ntk_http_files_create(const struct ntk_http_file *table);
void ntk_http_files_destroy(struct ntk_http_files *files);
/* The handler for the routes; ctx is the files. "/" means index.html; paths that are not in the
 * table get 404. */
void ntk_http_files_answer(const struct ntk_http_request *request,
                           struct ntk_http_response *response, void *ctx);

#ifdef __cplusplus
}
#endif
#endif
