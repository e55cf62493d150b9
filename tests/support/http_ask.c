/* SPDX-License-Identifier: MIT */
/* http_ask - a request over a socket on loopback, byte by byte as written by the test. */
#include "tests/support/http_ask.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "shared/base/buf.h"
#include "shared/base/clock.h"
#include "tests/support/process.h"

static void require(int condition, const char *what)
{
    if (!condition) {
        perror(what);
        abort();
    }
}

int test_http_connect(uint16_t port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct timeval limit = { .tv_sec = (time_t)(test_patience_ns() / NTK_NS_PER_SECOND) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    require(fd >= 0, "socket");
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    require(connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
    return fd;
}

void test_http_send(int fd, const char *text)
{
    size_t length = strlen(text);

    require(send(fd, text, length, MSG_NOSIGNAL) == (ssize_t)length, "send");
}

char *test_http_read_until(int fd, const char *text)
{
    struct ntk_buf buf = { 0 };
    char block[4096];
    ssize_t count;

    while ((!text || !strstr(ntk_buf_text_get(&buf), text)) &&
           (count = read(fd, block, sizeof block)) > 0) {
        ntk_buf_add(&buf, block, (size_t)count);
    }
    char *all = strdup(ntk_buf_text_get(&buf));
    ntk_buf_fini(&buf);
    return all;
}

char *test_http_get(uint16_t port, const char *path, const char *headers)
{
    struct ntk_buf request = { 0 };
    int fd = test_http_connect(port);

    ntk_buf_add_format(&request, "GET %s HTTP/1.1\r\n%s%sConnection: close\r\n\r\n", path,
                       strstr(headers, "Host:") ? "" : "Host: localhost\r\n", headers);
    test_http_send(fd, ntk_buf_text_get(&request));
    ntk_buf_fini(&request);
    char *answer = test_http_read_until(fd, NULL);
    close(fd);
    return answer;
}
