/* SPDX-License-Identifier: MIT */
/* day_receivers - connections and answers. */
#include "tests/e2e/day/day_receivers.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/day/day_decode.h"

#define HEAD_BYTES 16384
#define BODY_BYTES_MAX ((size_t)64 * 1024 * 1024)

struct receiver {
    enum day_mode mode;
    struct day_got got;
    struct day_values values;
};

struct day_receivers {
    int fd;
    uint16_t port;
    const char *folder;
    pthread_t thread;
    pthread_mutex_t lock; /* everything below */
    struct receiver receivers[DAY_OUTPUT_COUNT];
};

struct connection {
    struct day_receivers *receivers;
    int fd;
};

struct request {
    char head[HEAD_BYTES];
    char path[2048];
    uint8_t *body;
    size_t body_bytes;
};

/* -- reading ----------------------------------------------------------------------------------- */

static const char *header_get(const char *head, const char *name)
{
    size_t bytes = strlen(name);

    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, bytes) == 0 && line[2 + bytes] == ':') {
            return line + 3 + bytes + strspn(line + 3 + bytes, " ");
        }
    }
    return NULL;
}

static bool read_head(int fd, struct request *request)
{
    size_t used = 0;

    while (used < HEAD_BYTES - 1) {
        ssize_t got = recv(fd, request->head + used, HEAD_BYTES - 1 - used, MSG_PEEK);
        if (got <= 0) {
            return false;
        }
        request->head[used + (size_t)got] = '\0';
        const char *end = strstr(request->head, "\r\n\r\n");
        size_t take = end ? (size_t)(end + 4 - request->head) - used : (size_t)got;
        if (read(fd, request->head + used, take) != (ssize_t)take) {
            return false;
        }
        used += take;
        if (end) {
            request->head[used] = '\0';
            return sscanf(request->head, "%*s %2047s", request->path) == 1;
        }
    }
    return false;
}

static bool read_body(int fd, struct request *request)
{
    const char *length = header_get(request->head, "content-length");
    const char *expect = header_get(request->head, "expect");
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";

    request->body_bytes = length ? strtoul(length, NULL, 10) : 0;
    if (request->body_bytes > BODY_BYTES_MAX ||
        (expect && write(fd, go_on, sizeof go_on - 1) != (ssize_t)sizeof go_on - 1)) {
        return false;
    }
    request->body = malloc(request->body_bytes + 1);
    for (size_t used = 0; request->body && used < request->body_bytes;) {
        ssize_t got = read(fd, request->body + used, request->body_bytes - used);
        if (got <= 0) {
            return false;
        }
        used += (size_t)got;
    }
    return request->body != NULL;
}

static enum day_output output_of(const struct request *request)
{
    static const struct {
        const char *path;
        enum day_output output;
    } rows[] = { { "/write", DAY_REMOTE_WRITE },
                 { "/v1/metrics", DAY_OTLP },
                 { "/v1/traces", DAY_TRACES },
                 { "/cloudwatch", DAY_CLOUDWATCH },
                 { "/bucket/", DAY_S3 } };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strncmp(request->path, rows[i].path, strlen(rows[i].path)) == 0) {
            return rows[i].output;
        }
    }
    return DAY_OUTPUT_COUNT;
}

/* -- accepting; the lock is held --------------------------------------------------------------- */

static bool make_folders(char *path)
{
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        *at = '/';
        if (!made) {
            return false;
        }
    }
    return true;
}

/* A later part replaces an earlier one. */
static bool save_object(const char *folder, const struct request *request)
{
    char path[4096];

    (void)snprintf(path, sizeof path, "%s%s", folder, request->path);
    FILE *file = make_folders(path) ? fopen(path, "w") : NULL;
    bool is_good =
        file && fwrite(request->body, 1, request->body_bytes, file) == request->body_bytes;
    return file && fclose(file) == 0 && is_good;
}

static bool accept_body(struct day_receivers *receivers, enum day_output output,
                        const struct request *request)
{
    struct receiver *receiver = &receivers->receivers[output];
    struct day_got *got = &receiver->got;
    bool is_good = true;

    got->requests++;
    if (output == DAY_S3) {
        got->items++;
        return save_object(receivers->folder, request);
    }
    switch (output) {
    case DAY_REMOTE_WRITE:
        is_good = day_decode_remote_write(request->body, request->body_bytes, &receiver->values);
        break;
    case DAY_OTLP:
        is_good = day_decode_otlp(request->body, request->body_bytes, &receiver->values);
        break;
    case DAY_TRACES:
        is_good = day_decode_traces(request->body, request->body_bytes, &receiver->values);
        break;
    default:
        is_good = day_decode_cloudwatch(request->body, request->body_bytes, &receiver->values);
        break;
    }
    got->invalid += !is_good;
    return true;
}

static bool answer(struct day_receivers *receivers, int fd, enum day_output output,
                   struct request *request)
{
    char text[512];
    int status = 404;

    pthread_mutex_lock(&receivers->lock);
    if (output < DAY_OUTPUT_COUNT) {
        struct receiver *receiver = &receivers->receivers[output];
        const char *none_match = header_get(request->head, "if-none-match");
        bool accepts = receiver->mode == DAY_ACCEPTS;
        receiver->got.failures += !accepts;
        status = !accepts                                  ? 503
                 : output == DAY_S3 && none_match          ? 412
                 : accept_body(receivers, output, request) ? 200
                                                           : 500;
    }
    pthread_mutex_unlock(&receivers->lock);
    int bytes = snprintf(text, sizeof text,
                         "HTTP/1.1 %d x\r\nContent-Length: 0\r\n"
                         "X-Prometheus-Remote-Write-Samples-Written: 1000000\r\n\r\n",
                         status);
    return write(fd, text, (size_t)bytes) == bytes;
}

static bool breaks(struct day_receivers *receivers, enum day_output output)
{
    pthread_mutex_lock(&receivers->lock);
    bool is_broken = output < DAY_OUTPUT_COUNT && receivers->receivers[output].mode == DAY_BREAKS;
    if (is_broken) {
        receivers->receivers[output].got.failures++;
    }
    pthread_mutex_unlock(&receivers->lock);
    return is_broken;
}

static void *serve(void *ctx)
{
    struct connection *connection = ctx;
    struct request *request = calloc(1, sizeof *request);
    bool goes_on = request != NULL;

    while (goes_on && read_head(connection->fd, request)) {
        enum day_output output = output_of(request);
        goes_on = !breaks(connection->receivers, output) && read_body(connection->fd, request) &&
                  answer(connection->receivers, connection->fd, output, request);
        free(request->body);
        request->body = NULL;
    }
    free(request);
    close(connection->fd);
    free(connection);
    return NULL;
}

static void *listen_on(void *ctx)
{
    struct day_receivers *receivers = ctx;
    int fd;

    while ((fd = accept4(receivers->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        struct connection *connection = calloc(1, sizeof *connection);
        pthread_t thread;
        if (!connection) {
            abort();
        }
        *connection = (struct connection){ receivers, fd };
        if (pthread_create(&thread, NULL, serve, connection) != 0) {
            abort();
        }
        pthread_detach(thread);
    }
    return NULL;
}

/* -- start, stop ------------------------------------------------------------------------------- */

struct day_receivers *day_receivers_start(const char *folder)
{
    struct day_receivers *receivers = calloc(1, sizeof *receivers);
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t bytes = sizeof address;

    if (!receivers) {
        abort();
    }
    receivers->folder = folder;
    receivers->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(receivers->fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(receivers->fd, 64) < 0 ||
        getsockname(receivers->fd, (struct sockaddr *)&address, &bytes) < 0) {
        abort();
    }
    receivers->port = ntohs(address.sin_port);
    pthread_mutex_init(&receivers->lock, NULL);
    if (pthread_create(&receivers->thread, NULL, listen_on, receivers) != 0) {
        abort();
    }
    return receivers;
}

/* Peers are gone by then, so that no connection is open. */
void day_receivers_stop(struct day_receivers *receivers)
{
    if (!receivers) {
        return;
    }
    (void)shutdown(receivers->fd, SHUT_RDWR);
    pthread_join(receivers->thread, NULL);
    close(receivers->fd);
    for (size_t i = 0; i < DAY_OUTPUT_COUNT; i++) {
        day_values_fini(&receivers->receivers[i].values);
    }
    pthread_mutex_destroy(&receivers->lock);
    free(receivers);
}

uint16_t day_receivers_port(const struct day_receivers *receivers)
{
    return receivers->port;
}

void day_receivers_set_mode(struct day_receivers *receivers, enum day_output output,
                            enum day_mode mode)
{
    pthread_mutex_lock(&receivers->lock);
    receivers->receivers[output].mode = mode;
    pthread_mutex_unlock(&receivers->lock);
}

struct day_got day_receivers_got(struct day_receivers *receivers, enum day_output output)
{
    pthread_mutex_lock(&receivers->lock);
    struct receiver *receiver = &receivers->receivers[output];
    struct day_got got = receiver->got;
    if (output != DAY_S3) {
        got.items = receiver->values.items;
        got.executions = day_values_sum(&receiver->values, DAY_VALUES_MACHINE);
        got.of_jobs = day_values_sum(&receiver->values, DAY_VALUES_JOBS);
    }
    pthread_mutex_unlock(&receivers->lock);
    return got;
}
