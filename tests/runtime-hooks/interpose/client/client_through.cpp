// SPDX-License-Identifier: MIT Executions that are left other than by returning: the
// runtime calls client_inside() (vendor-inside), which throws, or ends its thread, or is where its
// thread is cancelled. The end of this execution is not reported; the client counts it as failed.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

extern "C" {
#include "tests/runtime-hooks/interpose/client/client.h"

__attribute__((visibility("default"))) void client_inside(const char *where);
bool client_more(const char *name, uint64_t number);
}

static thread_local void (*inside)(void);
static thread_local const char *inside_where = "nrt_execute";

void client_inside(const char *where)
{
    if (inside && strcmp(where, inside_where) == 0) {
        inside();
    }
}

static int pipe_fds[2]; // the cancelled thread signals that it is inside

static void throw_it(void)
{
    throw 7;
}

static void end_the_thread(void)
{
    pthread_exit(nullptr);
}

static void wait_to_be_cancelled(void)
{
    if (write(pipe_fds[1], "i", 1) != 1) {
        client_fail("write", errno);
    }
    for (;;) {
        pause();
    }
}

static void through_exceptions(uint64_t number)
{
    client_open();
    for (uint64_t i = 0; i < number; i++) {
        inside = throw_it;
        try {
            (void)client_execute();
            client_fail("an execution that throws", 0);
        } catch (int thrown) {
            client_count(NRT_FAILURE, thrown == 7 ? 1 : 0);
        }
        inside = nullptr;
    }
}

static void *execute_with(void *ctx)
{
    inside = reinterpret_cast<void (*)(void)>(ctx);
    (void)client_execute();
    return nullptr;
}

// Threads one after the other that begin an execution and end inside it.
static void through_threads(uint64_t number, void (*way)(void))
{
    client_open();
    if (pipe(pipe_fds) != 0) {
        client_fail("pipe", errno);
    }
    for (uint64_t i = 0; i < number; i++) {
        pthread_t thread;
        char byte;

        alarm(client_hangs_seconds());
        if (pthread_create(&thread, nullptr, execute_with, reinterpret_cast<void *>(way)) != 0 ||
            (way == wait_to_be_cancelled &&
             (read(pipe_fds[0], &byte, 1) != 1 || pthread_cancel(thread) != 0))) {
            client_fail("pthread_create", errno);
        }
        pthread_join(thread, nullptr);
        client_count(NRT_FAILURE, 1);
        (void)client_execute();
        alarm(0);
    }
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void cancel_this(void)
{
    pthread_cancel(pthread_self());
}

// A request to end that came while the call was in progress; it is heeded when the call has ended.
static void *init_and_end(void *)
{
    inside = cancel_this;
    inside_where = "nrt_init";
    (void)CALL(nrt_init)(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
    pthread_testcancel();
    return nullptr;
}

static void *close_and_end(void *)
{
    inside = cancel_this;
    inside_where = "nrt_close";
    (void)CALL(nrt_close)();
    pthread_testcancel();
    return nullptr;
}

static void through_ends_of_calls(uint64_t number)
{
    static void *(*const calls[])(void *) = { init_and_end, close_and_end };

    for (uint64_t i = 0; i < 2 * number; i++) {
        void *result = nullptr;
        pthread_t thread;

        alarm(client_hangs_seconds());
        if (pthread_create(&thread, nullptr, calls[i % 2], nullptr) != 0) {
            client_fail("pthread_create", errno);
        }
        pthread_join(thread, &result);
        if (result != PTHREAD_CANCELED) {
            client_fail("pthread_cancel", static_cast<int>(i));
        }
        alarm(0);
    }
}

bool client_more(const char *name, uint64_t number)
{
    if (strcmp(name, "throw") == 0) {
        through_exceptions(number);
    } else if (strcmp(name, "thread-exit") == 0) {
        through_threads(number, end_the_thread);
    } else if (strcmp(name, "cancel") == 0) {
        through_threads(number, wait_to_be_cancelled);
    } else if (strcmp(name, "cancel-ends") == 0) {
        through_ends_of_calls(number);
    } else {
        return false;
    }
    return true;
}
