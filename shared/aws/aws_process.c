/* SPDX-License-Identifier: MIT */
/* aws_process - a child in a separate process group, and the pipe that it writes to. */
#include "shared/aws/aws_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/aws/aws_credentials.h"
#include "shared/base/child.h"
#include "shared/base/clock.h"

#define STEP_MS 100

/* -- words ------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Parses one word at `at` and unquotes it to *to. Returns the text after it, or NULL if a quote is
 * open. */
static const char *take_word(const char *at, char **to)
{
    char quote = '\0';

    for (; *at && (quote || !is_blank(*at)); at++) {
        bool is_escape =
            *at == '\\' && at[1] && (!quote || (quote == '"' && (at[1] == '"' || at[1] == '\\')));
        if (is_escape) {
            *(*to)++ = *++at;
        } else if (!quote && (*at == '"' || *at == '\'')) {
            quote = *at;
        } else if (quote && *at == quote) {
            quote = '\0';
        } else {
            *(*to)++ = *at;
        }
    }
    *(*to)++ = '\0';
    return quote ? NULL : at;
}

int ntk_aws_process_split(const char *command, char ***out_words, struct ntk_err *err)
{
    size_t rows = NTK_AWS_PROCESS_WORDS_MAX + 1;
    /* An unquoted word is never longer than its source, with a NUL in place of the blank. */
    char **words = calloc(1, rows * sizeof *words + strlen(command) + 1);
    size_t count = 0;

    if (!words) {
        return ntk_err_no_memory(err);
    }
    char *to = (char *)(words + rows);
    const char *at = command + strspn(command, " \t");
    while (at && *at && count < NTK_AWS_PROCESS_WORDS_MAX) {
        words[count++] = to;
        at = take_word(at, &to);
        at = at ? at + strspn(at, " \t") : NULL;
    }
    if (!at || *at || !count) {
        free(words);
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "credential_process %s",
                           !at     ? "has an unterminated quote"
                           : count ? "has too many words"
                                   : "has no command");
    }
    *out_words = words;
    return 0;
}

/* -- the child --------------------------------------------------------------------------------- */

/* Reads to the end of the pipe. Returns 0, -ETIMEDOUT, -ECANCELED, -EMSGSIZE or -EIO. */
static int read_to_end(int fd, uint64_t until_ns, bool (*is_cancelled)(void *ctx), void *ctx,
                       struct ntk_buf *out)
{
    char block[4096];
    int ret = -ETIMEDOUT;
    size_t count = 0;

    while (ntk_clock_monotonic_ns() < until_ns) {
        struct pollfd poll_fd = { fd, POLLIN, 0 };
        if (is_cancelled(ctx)) {
            ret = -ECANCELED;
            break;
        }
        if (poll(&poll_fd, 1, STEP_MS) <= 0) {
            continue;
        }
        ssize_t got = read(fd, block, sizeof block);
        count += got > 0 ? (size_t)got : 0;
        if (got <= 0 || count > NTK_AWS_ANSWER_BYTES_MAX) {
            ret = got < 0 ? -EIO : got > 0 ? -EMSGSIZE : 0;
            break;
        }
        ntk_buf_add(out, block, (size_t)got);
    }
    explicit_bzero(block, sizeof block);
    return ret;
}

/* Waits for the child to exit, because it may close the pipe long before. Returns 0, or -ETIMEDOUT
 * or -ECANCELED if it still runs. */
static int wait_until(pid_t pid, uint64_t until_ns, bool (*is_cancelled)(void *ctx), void *ctx,
                      int *out_status)
{
    int step_ms = 1;

    while (waitpid(pid, out_status, WNOHANG) != pid) {
        if (is_cancelled(ctx)) {
            return -ECANCELED;
        }
        if (ntk_clock_monotonic_ns() >= until_ns) {
            return -ETIMEDOUT;
        }
        (void)poll(NULL, 0, step_ms);
        step_ms = step_ms * 2 < STEP_MS ? step_ms * 2 : STEP_MS;
    }
    return 0;
}

/* Kills the child and all processes that it started. */
static void end(pid_t pid)
{
    (void)kill(-pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

int ntk_aws_process_run(const char *command, uint64_t timeout_ns, bool (*is_cancelled)(void *ctx),
                        void *ctx, struct ntk_buf *out, struct ntk_err *err)
{
    char **words = NULL;
    int fds[2];
    pid_t pid;

    int ret = ntk_aws_process_split(command, &words, err);
    if (ret < 0 || !words) {
        return ret;
    }
    if (pipe2(fds, O_CLOEXEC) < 0) {
        free(words);
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "pipe: %s", strerror(errno));
    }
    ret = ntk_child_start(
        &(struct ntk_child){
            .argv = words, .has_files = true, .has_own_group = true, .output = fds[1] },
        &pid);
    close(fds[1]);
    if (ret < 0) {
        ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot run '%.200s': %s", words[0],
                    strerror(-ret));
    } else {
        uint64_t until_ns = ntk_clock_monotonic_ns() + timeout_ns;
        int status = 0;
        ret = read_to_end(fds[0], until_ns, is_cancelled, ctx, out);
        ret = ret < 0 ? ret : wait_until(pid, until_ns, is_cancelled, ctx, &status);
        if (ret < 0) {
            end(pid);
            ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "%.200s: %s", words[0],
                        ret == -ETIMEDOUT   ? "timed out"
                        : ret == -EMSGSIZE  ? "printed too much output"
                        : ret == -ECANCELED ? "cancelled: the program is exiting"
                                            : "cannot read its output");
        } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            ret = ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "%.200s: failed with %s %d", words[0],
                              WIFEXITED(status) ? "exit code" : "signal",
                              WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        }
    }
    close(fds[0]);
    free(words);
    return ret;
}
