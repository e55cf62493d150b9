/* SPDX-License-Identifier: MIT */
/*
 * http_authorities - finds the certificates of this system's authorities, for a libcurl that was
 * built on another system.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_HTTP_HTTP_AUTHORITIES_H
#define NTK_SHARED_HTTP_HTTP_AUTHORITIES_H

/* The first of the usual files that exists below root (""). NULL if the place that libcurl was
 * built with, built_in, has certificates or is NULL. */
const char *http_authorities_file(const char *root, const char *built_in);

#endif
