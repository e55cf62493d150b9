/* SPDX-License-Identifier: MIT */
/* fake_kubelet - a kubelet's pod-resources socket in a thread. */
#include "tests/support/fake_kubelet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FRAME_HEAD 9
#define PIECE_BYTES 16384
#define PREFACE_BYTES 24
enum { DATA = 0, HEADERS = 1, SETTINGS = 4, PING = 6 };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };

/* -- protobuf ---------------------------------------------------------------------------------- */

static void put_varint(struct ntk_buf *buf, size_t value)
{
    for (; value >= 0x80; value >>= 7) {
        ntk_buf_put_u8(buf, (uint8_t)(value | 0x80));
    }
    ntk_buf_put_u8(buf, (uint8_t)value);
}

void fake_kubelet_field(struct ntk_buf *message, unsigned number, const void *bytes,
                        size_t bytes_count)
{
    put_varint(message, number << 3 | 2);
    put_varint(message, bytes_count);
    ntk_buf_add(message, bytes, bytes_count);
}

static void put_text(struct ntk_buf *message, unsigned number, const char *text)
{
    fake_kubelet_field(message, number, text, strlen(text));
}

static void put_message(struct ntk_buf *message, unsigned number, struct ntk_buf *inner)
{
    fake_kubelet_field(message, number, inner->bytes, inner->bytes_count);
    ntk_buf_fini(inner);
}

void fake_kubelet_pod(struct ntk_buf *list, const char *namespace_name, const char *pod,
                      const char *container, const char *resource, const char *const *ids)
{
    struct ntk_buf devices = { 0 };
    struct ntk_buf inside = { 0 };
    struct ntk_buf whole = { 0 };

    put_text(&devices, 1, resource);
    for (; *ids; ids++) {
        put_text(&devices, 2, *ids);
    }
    put_text(&inside, 1, container);
    put_message(&inside, 2, &devices);
    put_text(&whole, 1, pod);
    put_text(&whole, 2, namespace_name);
    put_message(&whole, 3, &inside);
    put_message(list, 1, &whole);
}

void fake_kubelet_frame(struct ntk_buf *framed, struct ntk_buf *message)
{
    size_t count = message->bytes_count;
    const uint8_t head[5] = { 0, (uint8_t)(count >> 24), (uint8_t)(count >> 16),
                              (uint8_t)(count >> 8), (uint8_t)count };

    ntk_buf_add(framed, head, sizeof head);
    ntk_buf_add(framed, message->bytes, count);
    ntk_buf_fini(message);
}

/* -- HTTP/2 ------------------------------------------------------------------------------------ */

static bool receive(int fd, void *bytes, size_t count)
{
    return count == 0 || recv(fd, bytes, count, MSG_WAITALL) == (ssize_t)count;
}

static bool send_all(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;

    while (count > 0) {
        ssize_t sent = send(fd, at, count, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        at += sent;
        count -= (size_t)sent;
    }
    return true;
}

static bool send_frame(int fd, uint8_t type, uint8_t flags, uint32_t stream, const void *bytes,
                       size_t count)
{
    const uint8_t head[FRAME_HEAD] = { (uint8_t)(count >> 16),
                                       (uint8_t)(count >> 8),
                                       (uint8_t)count,
                                       type,
                                       flags,
                                       (uint8_t)(stream >> 24),
                                       (uint8_t)(stream >> 16),
                                       (uint8_t)(stream >> 8),
                                       (uint8_t)stream };

    return send_all(fd, head, sizeof head) && send_all(fd, bytes, count);
}

/* An uncompressed HPACK literal without indexing. */
static void put_header(struct ntk_buf *block, const char *name, const char *value)
{
    ntk_buf_put_u8(block, 0);
    ntk_buf_put_u8(block, (uint8_t)strlen(name));
    ntk_buf_add_text(block, name);
    ntk_buf_put_u8(block, (uint8_t)strlen(value));
    ntk_buf_add_text(block, value);
}

static bool send_block(int fd, uint8_t flags, uint32_t stream, struct ntk_buf *block)
{
    bool is_sent =
        send_frame(fd, HEADERS, flags | END_HEADERS, stream, block->bytes, block->bytes_count);

    ntk_buf_fini(block);
    return is_sent;
}

/* Returns false to hang up. */
static bool answer(int fd, uint32_t stream, enum fake_kubelet_manner manner, const char *status,
                   const struct ntk_buf *body)
{
    struct ntk_buf head = { 0 };
    struct ntk_buf end = { 0 };

    if (manner == FAKE_KUBELET_SILENT) {
        return true;
    }
    ntk_buf_put_u8(&head, 0x88); /* :status 200 */
    put_header(&head, "content-type", "application/grpc");
    if (manner == FAKE_KUBELET_REFUSES) {
        put_header(&head, "grpc-status", status);
        put_header(&head, "grpc-message", "not here");
        return send_block(fd, END_STREAM, stream, &head);
    }
    if (!send_block(fd, 0, stream, &head)) {
        return false;
    }
    size_t count = manner == FAKE_KUBELET_CUTS ? body->bytes_count / 2 : body->bytes_count;
    for (size_t at = 0; at < count; at += PIECE_BYTES) {
        size_t piece = count - at < PIECE_BYTES ? count - at : PIECE_BYTES;
        if (!send_frame(fd, DATA, 0, stream, body->bytes + at, piece)) {
            return false;
        }
    }
    if (manner == FAKE_KUBELET_CUTS) {
        return false;
    }
    put_header(&end, manner == FAKE_KUBELET_FORGETS ? "x-nothing" : "grpc-status", "0");
    return send_block(fd, END_STREAM, stream, &end);
}

static bool answer_question(struct fake_kubelet *kubelet, int fd, uint32_t stream)
{
    struct ntk_buf body = { 0 };

    pthread_mutex_lock(&kubelet->lock);
    enum fake_kubelet_manner manner = kubelet->manner;
    const char *status = kubelet->status ? kubelet->status : "12";
    ntk_buf_add(&body, kubelet->body.bytes, kubelet->body.bytes_count);
    kubelet->questions++;
    pthread_mutex_unlock(&kubelet->lock);
    bool may_continue = answer(fd, stream, manner, status, &body);
    ntk_buf_fini(&body);
    return may_continue;
}

static void talk(struct fake_kubelet *kubelet, int fd)
{
    uint8_t preface[PREFACE_BYTES];
    bool may_continue = receive(fd, preface, sizeof preface);

    pthread_mutex_lock(&kubelet->lock);
    bool is_babble = kubelet->manner == FAKE_KUBELET_BABBLES;
    kubelet->questions += is_babble;
    pthread_mutex_unlock(&kubelet->lock);
    if (is_babble) {
        send_all(fd, "220 mail here, what do you want?\r\n", 34);
        return;
    }
    may_continue = may_continue && send_frame(fd, SETTINGS, 0, 0, NULL, 0);
    while (may_continue) {
        uint8_t head[FRAME_HEAD];
        uint8_t bytes[PIECE_BYTES];
        if (!receive(fd, head, sizeof head)) {
            return;
        }
        size_t count = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
        uint32_t stream = (uint32_t)(head[5] & 0x7f) << 24 | (uint32_t)head[6] << 16 |
                          (uint32_t)head[7] << 8 | head[8];
        if (count > sizeof bytes || !receive(fd, bytes, count)) {
            return;
        }
        if (head[3] == SETTINGS && !(head[4] & ACK)) {
            may_continue = send_frame(fd, SETTINGS, ACK, 0, NULL, 0);
        } else if (head[3] == PING && !(head[4] & ACK)) {
            may_continue = send_frame(fd, PING, ACK, 0, bytes, count);
        } else if ((head[3] == DATA || head[3] == HEADERS) && head[4] & END_STREAM) {
            may_continue = answer_question(kubelet, fd, stream);
        }
    }
}

static void *serve(void *ctx)
{
    struct fake_kubelet *kubelet = ctx;
    int fd;

    while ((fd = accept(kubelet->listener, NULL, NULL)) >= 0) {
        pthread_mutex_lock(&kubelet->lock);
        bool is_over = kubelet->is_over;
        kubelet->connection = fd;
        pthread_mutex_unlock(&kubelet->lock);
        if (!is_over) {
            talk(kubelet, fd);
        }
        pthread_mutex_lock(&kubelet->lock);
        kubelet->connection = -1;
        close(fd);
        pthread_mutex_unlock(&kubelet->lock);
    }
    return NULL; /* it was shut down */
}

void fake_kubelet_start(struct fake_kubelet *kubelet, const char *socket_path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    *kubelet = (struct fake_kubelet){ .connection = -1 };
    snprintf(kubelet->path, sizeof kubelet->path, "%s", socket_path);
    memcpy(address.sun_path, kubelet->path, sizeof address.sun_path);
    pthread_mutex_init(&kubelet->lock, NULL);
    kubelet->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (kubelet->listener < 0 ||
        bind(kubelet->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(kubelet->listener, 8) != 0 ||
        pthread_create(&kubelet->thread, NULL, serve, kubelet) != 0) {
        perror("fake kubelet");
        abort();
    }
}

void fake_kubelet_set(struct fake_kubelet *kubelet, enum fake_kubelet_manner manner,
                      const char *body, size_t body_bytes)
{
    pthread_mutex_lock(&kubelet->lock);
    kubelet->manner = manner;
    ntk_buf_reset(&kubelet->body);
    ntk_buf_add(&kubelet->body, body, body_bytes);
    if (kubelet->connection >= 0) {
        shutdown(kubelet->connection, SHUT_RDWR); /* the next request uses a new connection */
    }
    pthread_mutex_unlock(&kubelet->lock);
}

void fake_kubelet_stop(struct fake_kubelet *kubelet)
{
    pthread_mutex_lock(&kubelet->lock);
    kubelet->is_over = true;
    if (kubelet->connection >= 0) {
        shutdown(kubelet->connection, SHUT_RDWR);
    }
    pthread_mutex_unlock(&kubelet->lock);
    shutdown(kubelet->listener, SHUT_RDWR);
    pthread_join(kubelet->thread, NULL);
    close(kubelet->listener);
    unlink(kubelet->path);
    ntk_buf_fini(&kubelet->body);
    pthread_mutex_destroy(&kubelet->lock);
}
