/* SPDX-License-Identifier: MIT */
/* What processes do around their executions: fork, exit, and open the runtime repeatedly. */
#include "tests/runtime-hooks/interpose/client/client.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOAD_THREADS 4

unsigned client_hangs_seconds(void)
{
    const char *factor = getenv("NTK_TEST_PATIENCE");

    return 120 * (factor && atoi(factor) > 0 ? (unsigned)atoi(factor) : 1);
}

static void pause_ms(long ms)
{
    const struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&pause, NULL);
}

static void wait_for(pid_t pid)
{
    int status = 0;

    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        client_fail("a child", status);
    }
}

static void init_and_close(uint64_t number)
{
    for (uint64_t i = 0; i < number; i++) {
        NRT_STATUS status = CALL(nrt_init)(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
        if (status != NRT_SUCCESS) {
            client_fail("nrt_init", (int)status);
        }
        CALL(nrt_close)();
    }
}

static void *init_and_close_once(void *ctx)
{
    (void)ctx;
    init_and_close(1);
    return NULL;
}

/* The first call comes from a thread with a stack of number KiB. */
static void init_on_small_stack(uint64_t number)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    int error = pthread_attr_setstacksize(&attributes, number * 1024);
    if (error != 0 || pthread_create(&thread, &attributes, init_and_close_once, NULL) != 0) {
        client_fail("pthread_create", error);
    }
    pthread_attr_destroy(&attributes);
    pthread_join(thread, NULL);
}

/* Calls without a runtime are not executions. */
static void execute_after_close(uint64_t number)
{
    client_open();
    (void)client_execute();
    client_close();
    for (uint64_t i = 0; i < number; i++) {
        nrt_tensor_t *tensor = NULL;
        NRT_STATUS status =
            CALL(nrt_tensor_allocate)(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "late", &tensor);
        if (status != NRT_CLOSED) {
            client_fail("nrt_tensor_allocate after nrt_close", (int)status);
        }
    }
}

static void at_exit(void)
{
    (void)client_execute();
    client_close();
    client_tell();
}

/* The last execution and the close happen at exit, so this is the last work of a client. */
static void execute_at_exit(uint64_t number)
{
    (void)number;
    client_open();
    if (atexit(at_exit) != 0) {
        client_fail("atexit", 0);
    }
    exit(0);
}

/* Children that use the runtime independently, one after another, and leave with exit(). */
static void fork_workers(uint64_t number)
{
    for (uint64_t i = 0; i < number; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            client_forget();
            client_open();
            (void)client_execute();
            client_close();
            client_tell();
            exit(0);
        }
        wait_for(pid);
    }
}

/* Children of a process that uses the runtime: their calls find no runtime. */
static void fork_idlers(uint64_t number)
{
    client_open();
    for (uint64_t i = 0; i < number; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            nrt_tensor_t *tensor = NULL;
            NRT_STATUS status =
                CALL(nrt_tensor_allocate)(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "child", &tensor);
            _exit(status == NRT_UNINITIALIZED ? 0 : 1);
        }
        wait_for(pid);
    }
}

/* ---- the first call ---- */

/* Two threads, and a pipe through which the constructor of a library reports. */
struct first_call {
    pthread_t thread;
    int fds[2];
};

static void variable_set(const char *name, uint64_t number)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    if (setenv(name, text, 1) != 0) {
        client_fail(name, errno);
    }
}

/* The constructor that reads these variables waits for ms. */
static void first_call_init(struct first_call *call, const char *fd_name, const char *ms_name,
                            uint64_t ms)
{
    if (pipe(call->fds) != 0) {
        client_fail("pipe", errno);
    }
    variable_set(fd_name, (uint64_t)call->fds[1]);
    variable_set(ms_name, ms);
}

static void first_call_start(struct first_call *call, void *(*run)(void *ctx))
{
    int error = pthread_create(&call->thread, NULL, run, call);

    if (error != 0) {
        client_fail("pthread_create", error);
    }
}

static void byte_read(const struct first_call *call)
{
    char byte;

    if (read(call->fds[0], &byte, 1) != 1) {
        client_fail("read", errno);
    }
}

static void first_call_fini(struct first_call *call)
{
    pthread_join(call->thread, NULL);
    close(call->fds[0]);
    close(call->fds[1]);
}

static void *call_and_tell(void *ctx)
{
    const struct first_call *call = ctx;

    (void)CALL(nrt_unload)(NULL);
    if (write(call->fds[1], "c", 1) != 1) {
        client_fail("write", errno);
    }
    return NULL;
}

/* Another thread makes the first call, and the runtime takes `number` milliseconds to load
 * (vendor-slow). Meanwhile a forked child uses the runtime independently. */
static void fork_in_first_call(uint64_t number)
{
    struct first_call call;

    first_call_init(&call, "VENDOR_START_FD", "VENDOR_START_MS", number);
    first_call_start(&call, call_and_tell);
    byte_read(&call);
    unsetenv("VENDOR_START_FD");
    pid_t pid = fork();
    if (pid == 0) {
        alarm(client_hangs_seconds());
        client_forget();
        client_open();
        (void)client_execute();
        client_close();
        client_tell();
        exit(0);
    }
    wait_for(pid);
    first_call_fini(&call);
}

static void *call_on_signal(void *ctx)
{
    byte_read(ctx);
    (void)CALL(nrt_unload)(NULL);
    return NULL;
}

/* Two threads make the first call, one of them in a constructor, inside the loader; the other one
 * has started by then. */
static void load_in_first_call(uint64_t number)
{
    struct first_call call;

    first_call_init(&call, "EARLY_FD", "EARLY_MS", number);
    first_call_start(&call, call_on_signal);
    alarm(client_hangs_seconds());
    if (!dlopen(getenv("CLIENT_MODULE"), RTLD_NOW)) {
        client_fail(dlerror(), 0);
    }
    first_call_fini(&call);
    alarm(0);
}

/* ---- */

static void fork_and_exec(uint64_t number)
{
    static char *const arguments[] = { "true", NULL };

    client_open();
    for (uint64_t i = 0; i < number; i++) {
        pid_t pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
        if (pid == 0) {
            execv("/bin/true", arguments);
            _exit(127);
        }
        wait_for(pid);
    }
}

static void *execute_while_it_can(void *ctx)
{
    (void)ctx;
    while (client_execute_or_not()) {
    }
    return NULL;
}

/* Closes the runtime while threads are inside it. */
static void close_under_load(uint64_t number)
{
    pthread_t threads[LOAD_THREADS];

    client_open();
    for (size_t i = 0; i < LOAD_THREADS; i++) {
        if (pthread_create(&threads[i], NULL, execute_while_it_can, NULL) != 0) {
            client_fail("pthread_create", (int)i);
        }
    }
    pause_ms((long)number);
    CALL(nrt_close)();
    for (size_t i = 0; i < LOAD_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    client_tell();
    exit(0);
}

/* Unloads the model while threads execute it. */
static void unload_under_load(uint64_t number)
{
    pthread_t threads[LOAD_THREADS];

    client_open();
    for (size_t i = 0; i < LOAD_THREADS; i++) {
        if (pthread_create(&threads[i], NULL, execute_while_it_can, NULL) != 0) {
            client_fail("pthread_create", (int)i);
        }
    }
    pause_ms((long)number);
    client_unload();
    for (size_t i = 0; i < LOAD_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void *execute_once(void *ctx)
{
    (void)ctx;
    (void)client_execute();
    return NULL;
}

/* Starts an execution of a long model in another thread, so that this thread can act meanwhile. */
static void execute_aside(void)
{
    pthread_t thread;

    client_open();
    if (pthread_create(&thread, NULL, execute_once, NULL) != 0) {
        client_fail("pthread_create", 0);
    }
    pthread_detach(thread);
}

/* Runs until SIGUSR1 arrives, which is sent once the execution is running. */
static void abort_inside(uint64_t number)
{
    sigset_t reported;

    sigemptyset(&reported);
    sigaddset(&reported, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &reported, NULL); /* also in all later threads */
    execute_aside();
    sigwait(&reported, &(int){ (int)number });
    abort();
}

static void stay_inside(uint64_t number)
{
    execute_aside();
    client_tell();
    pause_ms((long)number);
    _exit(1);
}

/* Waits, with the runtime open, until a signal ends it. */
static void stay(uint64_t number)
{
    client_tell();
    pause_ms((long)number);
    _exit(1);
}

static void reopen(uint64_t number)
{
#ifdef CLIENT_TABLE
    for (uint64_t i = 0; i < number; i++) {
        client_reopen();
    }
#else
    client_fail("a client that is linked", (int)number);
#endif
}

/* As in a container with a strict policy: from here on, calls in the first list fail, and calls in
 * the second end the process. */
static void restrict_calls(uint64_t number)
{
    static const unsigned int refused[] = { SYS_socket, SYS_memfd_create };
    static const unsigned int deadly[] = { SYS_perf_event_open, SYS_bpf, SYS_ptrace,
                                           SYS_process_vm_readv, SYS_userfaultfd };
    enum { REFUSED = sizeof refused / sizeof *refused, DEADLY = sizeof deadly / sizeof *deadly };
    struct sock_filter filter[2 + 2 * (REFUSED + DEADLY)];
    unsigned short length = 0;

    (void)number;
    filter[length++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < REFUSED + DEADLY; i++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, i < REFUSED ? refused[i] : deadly[i - REFUSED], 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(
            BPF_RET | BPF_K, i < REFUSED ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = { .len = length, .filter = filter };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        client_fail("prctl", errno);
    }
}

static const struct {
    const char *name;
    void (*run)(uint64_t number);
} lives[] = {
    { "init-close", init_and_close },
    { "small-stack", init_on_small_stack },
    { "after-close", execute_after_close },
    { "at-exit", execute_at_exit },
    { "workers", fork_workers },
    { "idlers", fork_idlers },
    { "fork-in-first-call", fork_in_first_call },
    { "load-in-first-call", load_in_first_call },
    { "exec", fork_and_exec },
    { "close-under-load", close_under_load },
    { "unload-under-load", unload_under_load },
    { "abort-inside", abort_inside },
    { "stay-inside", stay_inside },
    { "stay", stay },
    { "restrict", restrict_calls },
    { "reopen", reopen },
};

bool client_life(const char *name, uint64_t number)
{
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
        if (strcmp(lives[i].name, name) == 0) {
            lives[i].run(number);
            return true;
        }
    }
    if (strcmp(name, "close") == 0) {
        client_close();
        return true;
    }
    return false;
}
