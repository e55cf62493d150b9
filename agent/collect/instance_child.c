/* SPDX-License-Identifier: MIT */
/* instance_child - lets a copy of the program send requests to the metadata service. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/collect/instance.h"
#include "agent/collect/instance_facts.h"
#include "shared/base/child.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "shared/http/http_client.h"

/* Maximum run time: enough for all requests with all their timeouts. */
#define CHILD_NS (15 * NTK_INSTANCE_TIMEOUT_NS)
#define OUTPUT_BYTES_MAX 8192

static int spawn(const char *program, const char *endpoint, int output, pid_t *out_pid)
{
    char *const argv[] = { (char *)"neuron-monitor", (char *)NTK_INSTANCE_ASK_OPTION,
                           (char *)endpoint, NULL };

    return ntk_child_start(
        &(struct ntk_child){
            .program = program, .argv = argv, .has_files = true, .output = output },
        out_pid);
}

/* Starts the program unless cancelled. Returns the reading end of its output, or a negative
 * value. */
static int start(struct ntk_instance_child *child, const char *program, const char *endpoint)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0) {
        return -errno;
    }
    pthread_mutex_lock(&child->lock);
    int ret = child->is_cancelled ? -ECANCELED : spawn(program, endpoint, ends[1], &child->pid);
    if (ret < 0) {
        child->pid = 0;
    }
    pthread_mutex_unlock(&child->lock);
    close(ends[1]);
    if (ret < 0) {
        close(ends[0]);
        return ret;
    }
    return ends[0];
}

/* Reads until the end, but no longer than the child's time limit. Returns the number of bytes. */
static size_t read_all(const struct ntk_clock *clock, int fd, char *text, size_t bytes)
{
    uint64_t until_ns = ntk_clock_now_ns(clock) + CHILD_NS;
    size_t used = 0;

    for (;;) {
        uint64_t now_ns = ntk_clock_now_ns(clock);
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        if (now_ns >= until_ns || used == bytes) {
            return used;
        }
        int count = poll(&ready, 1, (int)((until_ns - now_ns) / NTK_NS_PER_MS) + 1);
        ssize_t got = count > 0 ? read(fd, text + used, bytes - used) : -1;
        if (got == 0 || (got < 0 && count > 0 && errno != EINTR)) {
            return used;
        }
        used += got > 0 ? (size_t)got : 0;
    }
}

/* Waits for the exit of the child, which is near: the child closed its output or is terminated. */
static int end(struct ntk_instance_child *child)
{
    int status = 0;

    pthread_mutex_lock(&child->lock);
    pid_t pid = child->pid;
    (void)kill(pid, SIGTERM); /* no effect on a process that has exited */
    child->pid = 0;
    pthread_mutex_unlock(&child->lock);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

int ntk_instance_child_ask(struct ntk_instance_child *child, const char *program,
                           const char *endpoint, struct ntk_instance_facts *facts,
                           struct ntk_err *err)
{
    char text[OUTPUT_BYTES_MAX + 1];
    int fd = start(child, program, endpoint);

    if (fd < 0) {
        return fd;
    }
    size_t used = read_all(child->clock, fd, text, OUTPUT_BYTES_MAX);
    text[used] = '\0';
    close(fd);
    end(child);
    if (ntk_instance_facts_read(text, facts) == 0) {
        return -EPROTO; /* the program is not from this project, or was killed */
    }
    if (facts->error[0]) {
        ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET, "%s", facts->error);
    }
    return facts->error[0] == '\0';
}

void ntk_instance_child_cancel(struct ntk_instance_child *child)
{
    pthread_mutex_lock(&child->lock);
    child->is_cancelled = true;
    if (child->pid > 0) {
        (void)kill(child->pid, SIGTERM);
    }
    pthread_mutex_unlock(&child->lock);
}

int ntk_instance_child_main(const char *endpoint)
{
    struct ntk_http_client *client = ntk_http_client_create();
    struct ntk_instance_facts facts = { 0 };
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };

    if (!client) {
        return 1;
    }
    if (!ntk_instance_facts_ask(client, endpoint, &facts, &err)) {
        ntk_str_copy(facts.error, sizeof facts.error, err.text);
    }
    ntk_instance_facts_write(&facts, &out);
    bool written = ntk_buf_ok(&out) &&
                   fwrite(out.bytes, 1, out.bytes_count, stdout) == out.bytes_count &&
                   fflush(stdout) == 0;
    ntk_buf_fini(&out);
    ntk_http_client_destroy(client);
    return written ? 0 : 1;
}
