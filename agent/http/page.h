/* SPDX-License-Identifier: MIT */
/*
 * page - the files of the page, which are part of the program, with their types, packed where the
 * browser takes that.
 *
 * Owner: create / destroy. Threads: any, after create.
 */
#ifndef NTK_AGENT_HTTP_PAGE_H
#define NTK_AGENT_HTTP_PAGE_H

#include "shared/http/http_server.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_page;

/* NULL without memory. */
struct ntk_page *ntk_page_create(void);
void ntk_page_destroy(struct ntk_page *page);
/* The handler; ctx is the page. What is no file of it is answered 404. */
void ntk_page_answer(const struct ntk_http_request *request, struct ntk_http_response *response,
                     void *ctx);

#ifdef __cplusplus
}
#endif
#endif
