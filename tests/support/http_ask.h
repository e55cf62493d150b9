/* SPDX-License-Identifier: MIT */
/* http_ask - a request over a socket on loopback, byte by byte as the test wrote it. */
#ifndef NTK_TESTS_SUPPORT_HTTP_ASK_H
#define NTK_TESTS_SUPPORT_HTTP_ASK_H

#include <stdint.h>

/* A connected socket that gives up reading after the patience of process.h. Aborts when it
 * cannot. */
int test_http_connect(uint16_t port);
void test_http_send(int fd, const char *text);
/* All until text is among it (NULL: until the peer closes); the caller frees. */
char *test_http_read_until(int fd, const char *text);
/* GET of path over a connection of its own, with more header lines ("" or "Name: value\r\n"...);
 * the head and the body; the caller frees. */
char *test_http_get(uint16_t port, const char *path, const char *headers);

#endif
