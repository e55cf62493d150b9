/* SPDX-License-Identifier: MIT */
/*
 * http_authorities - where this system keeps the certificates of authorities, for a libcurl that
 * was built on another one.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_HTTP_HTTP_AUTHORITIES_H
#define NTK_SHARED_HTTP_HTTP_AUTHORITIES_H

/* The first of the usual files that is below root (""), or NULL where built_in, the place that
 * libcurl knows, has one or is NULL. */
const char *http_authorities_file(const char *root, const char *built_in);

#endif
