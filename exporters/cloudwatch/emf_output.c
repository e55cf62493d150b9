/* SPDX-License-Identifier: MIT */
/* emf_output - writes to one of four kinds of descriptors, and keeps the progress of the last
 * message. */
#include "exporters/cloudwatch/emf_output.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporters/transport/outbox.h"
#include "shared/base/clock.h"

#define CONNECT_MS 5000
#define WRITE_MS 10000
#define HOST_BYTES 256
#define PORT_BYTES 8

enum kind { STDOUT, FILE_NAME, TCP, UDP };

struct ntk_emf_output {
    enum kind kind;
    char *path; /* for FILE_NAME */
    char host[HOST_BYTES];
    char port[PORT_BYTES];
    int fd;            /* -1 if not open */
    int cancel[2];     /* a pipe that is readable after a cancel */
    size_t done_bytes; /* bytes of the current message written by an earlier attempt */
    /* For FILE_NAME: length of the file after that attempt; -1 if another file replaced it */
    off_t file_bytes;
    bool is_torn;              /* for STDOUT: its output ended inside a line */
    struct ntk_outbox *outbox; /* NULL for STDOUT */
};

/* -- sending, on the outbox's thread ----------------------------------------------------------- */

/* Returns 1 if fd is ready, 0 after `ms` or a cancel. */
static int wait_ready(const struct ntk_emf_output *output, short events, int ms)
{
    struct pollfd fds[] = { { output->fd, events, 0 }, { output->cancel[0], POLLIN, 0 } };

    return poll(fds, 2, ms) > 0 && !fds[1].revents ? 1 : 0;
}

static void hang_up(struct ntk_emf_output *output)
{
    if (output->fd >= 0) {
        close(output->fd);
    }
    output->fd = -1;
}

/* Returns 0 or -errno. */
static int connect_to(struct ntk_emf_output *output, const struct addrinfo *address)
{
    int error = 0;
    socklen_t bytes = sizeof error;

    output->fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (output->fd < 0) {
        return -errno;
    }
    if (connect(output->fd, address->ai_addr, address->ai_addrlen) == 0) {
        return 0;
    }
    error = errno;
    if (error == EINPROGRESS) {
        error = wait_ready(output, POLLOUT, CONNECT_MS) ? 0 : ETIMEDOUT;
        if (!error && getsockopt(output->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) < 0) {
            error = errno;
        }
    }
    if (error) {
        hang_up(output);
    }
    return -error;
}

static int open_socket(struct ntk_emf_output *output, char *text, size_t text_bytes)
{
    const struct addrinfo hints = { .ai_socktype = output->kind == TCP ? SOCK_STREAM : SOCK_DGRAM };
    struct addrinfo *found = NULL;
    int ret = -EHOSTUNREACH;

    int code = getaddrinfo(output->host, output->port, &hints, &found);
    if (code != 0) {
        (void)snprintf(text, text_bytes, "%s: %s", output->host, gai_strerror(code));
        return ret;
    }
    for (const struct addrinfo *at = found; at && ret < 0; at = at->ai_next) {
        ret = connect_to(output, at);
    }
    freeaddrinfo(found);
    if (ret < 0) {
        (void)snprintf(text, text_bytes, "%s:%s: %s", output->host, output->port, strerror(-ret));
    }
    return ret;
}

static bool is_same_file(int fd, const char *path)
{
    struct stat ours;
    struct stat theirs;

    return fstat(fd, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_ino == theirs.st_ino &&
           ours.st_dev == theirs.st_dev;
}

static int open_file(struct ntk_emf_output *output, char *text, size_t text_bytes)
{
    if (output->fd >= 0 && !is_same_file(output->fd, output->path)) {
        hang_up(output);
        output->file_bytes = -1; /* independent of the size of the new file */
    }
    if (output->fd < 0) {
        output->fd =
            open(output->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0640);
    }
    if (output->fd < 0) {
        (void)snprintf(text, text_bytes, "%.200s: %s", output->path, strerror(errno));
        return -errno;
    }
    return 0;
}

/* Returns true if the connection is closed, before the next line is written to it. */
static bool is_hung_up(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static int open_target(struct ntk_emf_output *output, char *text, size_t text_bytes)
{
    if (output->kind == FILE_NAME) {
        return open_file(output, text, text_bytes);
    }
    if (output->kind == TCP && output->fd >= 0 && is_hung_up(output->fd)) {
        hang_up(output);
    }
    return output->fd >= 0 ? 0 : open_socket(output, text, text_bytes);
}

/* Returns the start of the partial line. */
static size_t line_begin(const char *bytes, size_t at)
{
    const char *last = at ? memrchr(bytes, '\n', at) : NULL;

    return last ? (size_t)(last - bytes) + 1 : 0;
}

/* Returns the size; -1 if it is not a regular file. */
static off_t file_size(int fd)
{
    struct stat info;

    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? info.st_size : -1;
}

/* Returns true if a regular file ends inside a line, after a full disk or a killed writer. An
 * unreadable file counts as complete. */
static bool ends_inside_a_line(const char *path, off_t bytes)
{
    char last = '\n';
    int fd = bytes > 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

    if (fd >= 0) {
        (void)!pread(fd, &last, 1, bytes - 1);
        close(fd);
    }
    return last != '\n';
}

/* Continues a partial line only if the file is unchanged since the last attempt, or if the pipe
 * still has the same reader. Otherwise the line is written again on a new line. Returns 0 or
 * -errno. */
static int go_to_line(struct ntk_emf_output *output, const char *bytes)
{
    off_t size = file_size(output->fd);
    bool is_as_left = size < 0 ? output->file_bytes >= 0 : size == output->file_bytes;

    if (output->done_bytes > 0 && is_as_left) {
        return 0;
    }
    output->done_bytes = line_begin(bytes, output->done_bytes);
    output->file_bytes = size > 0 ? size : 0;
    if (ends_inside_a_line(output->path, size)) {
        if (write(output->fd, "\n", 1) != 1) {
            return -errno;
        }
        output->file_bytes++;
    }
    return 0;
}

/* Writes as much as possible without waiting. Returns the number of bytes or -errno. */
static ssize_t write_some(struct ntk_emf_output *output, const char *bytes, size_t count)
{
    ssize_t got;

    if (output->kind == FILE_NAME) {
        got = write(output->fd, bytes, count);
    } else {
        const char *end = output->kind == UDP ? memchr(bytes, '\n', count) : NULL;
        count = end ? (size_t)(end - bytes) + 1 : count;
        got = send(output->fd, bytes, count, MSG_NOSIGNAL);
    }
    return got < 0 ? -errno : got;
}

static void send_lines(void *ctx, const void *bytes, size_t bytes_count,
                       struct ntk_outbox_answer *answer)
{
    static const char begin[] = "{\"_aws\":";
    struct ntk_emf_output *output = ctx;

    if (bytes_count < sizeof begin - 1 || memcmp(bytes, begin, sizeof begin - 1) != 0) {
        answer->result = NTK_OUTBOX_REFUSED;
        (void)snprintf(answer->text, sizeof answer->text,
                       "the spool contains data from a different exporter");
        return;
    }
    answer->result = NTK_OUTBOX_RETRY;
    if (output->done_bytes > bytes_count) {
        output->done_bytes = 0;
    }
    if (open_target(output, answer->text, sizeof answer->text) < 0) {
        return;
    }
    ssize_t got = output->kind == FILE_NAME ? go_to_line(output, bytes) : 0;
    while (got >= 0 && output->done_bytes < bytes_count) {
        const char *at = (const char *)bytes + output->done_bytes;
        got = write_some(output, at, bytes_count - output->done_bytes);
        if (got >= 0) {
            output->done_bytes += (size_t)got;
            output->file_bytes += got;
            continue;
        }
        if (got == -EINTR ||
            ((got == -EAGAIN || got == -ENOBUFS) && wait_ready(output, POLLOUT, WRITE_MS))) {
            got = 0;
        }
    }
    if (got >= 0) {
        output->done_bytes = 0;
        answer->result = NTK_OUTBOX_SENT;
        return;
    }
    (void)snprintf(answer->text, sizeof answer->text, "%.200s: %s",
                   output->kind == FILE_NAME ? output->path : output->host, strerror((int)-got));
    if (output->kind != FILE_NAME) {
        hang_up(output);
        output->done_bytes = line_begin(bytes, output->done_bytes);
    } else if (got == -EPIPE) {
        output->file_bytes = -1;
    }
}

static void cancel(void *ctx)
{
    struct ntk_emf_output *output = ctx;

    (void)!write(output->cancel[1], "", 1);
}

/* -- open, put, close -------------------------------------------------------------------------- */

/* Parses "host:port" or "[host]:port". */
static int take_address(struct ntk_emf_output *output, const char *text)
{
    bool is_bracketed = *text == '[';
    const char *host = text + is_bracketed;
    const char *colon = strrchr(text, ':');

    if (!colon) {
        return -1;
    }
    size_t host_bytes = (size_t)(colon - host);
    size_t port_bytes = strlen(colon + 1);
    if (is_bracketed && (host_bytes == 0 || host[--host_bytes] != ']')) {
        return -1;
    }
    if (host_bytes == 0 || host_bytes >= HOST_BYTES || port_bytes == 0 || port_bytes > 5 ||
        colon[1 + strspn(colon + 1, "0123456789")] || atoi(colon + 1) > UINT16_MAX ||
        atoi(colon + 1) == 0 || (!is_bracketed && memchr(host, ':', host_bytes))) {
        return -1;
    }
    memcpy(output->host, host, host_bytes);
    memcpy(output->port, colon + 1, port_bytes + 1);
    return 0;
}

static int take_target(struct ntk_emf_output *output, const char *target, struct ntk_err *err)
{
    bool is_tcp = !strncmp(target, "tcp://", 6);

    if (!strcmp(target, "-")) {
        output->kind = STDOUT;
        return 0;
    }
    if (is_tcp || !strncmp(target, "udp://", 6)) {
        output->kind = is_tcp ? TCP : UDP;
        return take_address(output, target + 6) < 0
                   ? ntk_err_set(
                         err, -EINVAL, NTK_ERR_NO_OFFSET,
                         "invalid address '%.200s': expected tcp://HOST:PORT or udp://HOST:PORT",
                         target)
                   : 0;
    }
    if (strstr(target, "://") || !*target) {
        return ntk_err_set(
            err, -EINVAL, NTK_ERR_NO_OFFSET,
            "invalid output '%.200s': expected -, a path, tcp://HOST:PORT or udp://HOST:PORT",
            target);
    }
    output->kind = FILE_NAME;
    output->path = strdup(target);
    return output->path ? 0 : ntk_err_no_memory(err);
}

void ntk_emf_output_destroy(struct ntk_emf_output *output)
{
    if (!output) {
        return;
    }
    ntk_outbox_destroy(output->outbox);
    hang_up(output);
    for (int i = 0; i < 2; i++) {
        if (output->cancel[i] >= 0) {
            close(output->cancel[i]);
        }
    }
    free(output->path);
    free(output);
}

int ntk_emf_output_create(const char *target, const char *spool_folder, uint64_t spool_bytes_max,
                          struct ntk_emf_output **out_output, struct ntk_err *err)
{
    struct ntk_emf_output *output = calloc(1, sizeof *output);
    char text[256] = "";

    if (!output) {
        return ntk_err_no_memory(err);
    }
    output->fd = output->cancel[0] = output->cancel[1] = -1;
    int ret = take_target(output, target, err);
    if (ret >= 0 && output->kind == FILE_NAME && open_file(output, text, sizeof text) < 0) {
        ret =
            /* an invalid path must fail immediately */
            ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "%s", text);
    }
    if (ret >= 0 && output->kind != STDOUT) {
        const struct ntk_outbox_options outbox = { .name = target,
                                                   .items = "lines",
                                                   .send = send_lines,
                                                   .cancel = cancel,
                                                   .ctx = output,
                                                   .spool_folder = spool_folder,
                                                   .spool_bytes_max = spool_bytes_max };
        ret = pipe2(output->cancel, O_CLOEXEC) < 0
                  ? ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "pipe: %s", strerror(errno))
                  : ntk_outbox_create(&outbox, &output->outbox, err);
    }
    if (ret < 0) {
        ntk_emf_output_destroy(output);
        return ret;
    }
    *out_output = output;
    return 0;
}

/* Writes all bytes; otherwise returns -errno, with the number of written bytes. */
static int write_stdout(const char *bytes, size_t count, size_t *out_done)
{
    for (*out_done = 0; *out_done < count;) {
        ssize_t got = write(STDOUT_FILENO, bytes + *out_done, count - *out_done);
        if (got < 0 && errno != EINTR) {
            return -errno;
        }
        *out_done += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

/* Prints lines; a rest that cannot be written is lost, but the next line starts on a new line. */
static int print(struct ntk_emf_output *output, struct ntk_buf *lines, struct ntk_err *err)
{
    const char *bytes = ntk_buf_text_get(lines);
    size_t done = 0;
    int ret = output->is_torn ? write_stdout("\n", 1, &done) : 0;

    if (ret >= 0) {
        ret = write_stdout(bytes, lines->bytes_count, &done);
        output->is_torn = line_begin(bytes, done) < done;
    }
    return ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot write to stdout: %s",
                                 strerror(-ret))
                   : 0;
}

int ntk_emf_output_put(struct ntk_emf_output *output, struct ntk_buf *lines, uint64_t line_count,
                       struct ntk_err *err)
{
    return output->outbox ? ntk_outbox_put(output->outbox, lines, line_count, err)
                          : print(output, lines, err);
}

int ntk_emf_output_drain(struct ntk_emf_output *output, bool in_haste, struct ntk_err *err)
{
    return output->outbox ? ntk_outbox_drain(output->outbox, in_haste, err) : 1;
}
