/* SPDX-License-Identifier: MIT */
#include "top/screen/screen_frame.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void ntk_screen_frame_init(struct ntk_screen_frame *frame, int out)
{
    *frame = (struct ntk_screen_frame){
        .out = out,
        .terminal_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0),
        .frame_fd = memfd_create("frame", MFD_CLOEXEC),
    };
}

void ntk_screen_frame_fini(struct ntk_screen_frame *frame)
{
    if (frame->terminal_fd >= 0) {
        close(frame->terminal_fd);
    }
    if (frame->frame_fd >= 0) {
        close(frame->frame_fd);
    }
    free(frame->bytes);
}

static void write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);

        if (written >= 0) {
            bytes += written;
            count -= (size_t)written;
        } else if (errno == EAGAIN) {
            struct pollfd wait = { fd, POLLOUT, 0 };

            (void)poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            return; /* the terminal is gone; reading keys reports it */
        }
    }
}

/* Sends the output of curses from memory to the terminal. */
static void send_frame(struct ntk_screen_frame *frame)
{
    off_t count = lseek(frame->frame_fd, 0, SEEK_CUR);

    if (count <= 0) {
        return;
    }
    if ((size_t)count > frame->capacity) {
        char *bytes = realloc(frame->bytes, (size_t)count);

        if (bytes) {
            frame->bytes = bytes;
            frame->capacity = (size_t)count;
        }
    }
    /* one iteration, unless out of memory */
    for (off_t done = 0; done < count && frame->capacity > 0;) {
        size_t part =
            (size_t)(count - done) < frame->capacity ? (size_t)(count - done) : frame->capacity;
        ssize_t got = pread(frame->frame_fd, frame->bytes, part, done);

        if (got <= 0) {
            break;
        }
        write_all(frame->terminal_fd, frame->bytes, (size_t)got);
        done += got;
    }
    (void)lseek(frame->frame_fd, 0, SEEK_SET);
}

bool ntk_screen_frame_begin(const struct ntk_screen_frame *frame)
{
    return frame->frame_fd >= 0 && dup3(frame->frame_fd, frame->out, O_CLOEXEC) == frame->out;
}

void ntk_screen_frame_end(struct ntk_screen_frame *frame)
{
    (void)dup3(frame->terminal_fd, frame->out, O_CLOEXEC);
    send_frame(frame);
}
