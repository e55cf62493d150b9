/* SPDX-License-Identifier: MIT */
/* http_ask - a request over a socket on loopback, byte by byte as written by the test. */
#ifndef NTK_TESTS_SUPPORT_HTTP_ASK_H
#define NTK_TESTS_SUPPORT_HTTP_ASK_H

#include <stdint.h>

/* A connected socket that stops reading after the patience of process.h. Aborts on failure. */
int test_http_connect(uint16_t port);
void test_http_send(int fd, const char *text);
/* Reads until text appears (NULL: until the peer closes); the caller frees the result. */
char *test_http_read_until(int fd, const char *text);
/* GET of path over a new connection, with additional header lines ("" or "Name: value\r\n"...);
 * returns the head and the body, which the caller frees. */
char *test_http_get(uint16_t port, const char *path, const char *headers);

#endif
