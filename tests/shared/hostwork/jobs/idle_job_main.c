/* SPDX-License-Identifier: MIT */
/*
 * idle_job_main KIND [FILE] - steps with idle time of a known cause, until SIGTERM; then prints
 * the idle time and the part of it that the cause took, by the job's own clock.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/shared/hostwork/jobs/idle_job.h"

#define CAUSE_MS 12
#define HUGE_BYTES ((size_t)2 << 20)
#define PAGES_BYTES (12 * HUGE_BYTES)
#define CROWD 10000
#define NOINLINE __attribute__((noinline))
#define OFF_CPU_NS 500000u /* between two reads of the clock */

static volatile sig_atomic_t must_end;
static const char *path;
static int descriptor = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int wanted, made;
static uint64_t other_ns; /* part of the measured time, but not the cause itself */
static struct ranks {
    sem_t others_came[2];
} * ranks; /* in the file that both ranks have mapped */
static int own_rank;

static void on_term(int number)
{
    (void)number;
    must_end = 1;
}

static void pause_ms(long ms)
{
    struct timespec pause = { ms / 1000, ms % 1000 * 1000000L };

    (void)nanosleep(&pause, NULL);
}

/* ---- host work while the core is idle ---- */

NOINLINE void wait_by_sleep(void);
void wait_by_sleep(void)
{
    struct timespec pause = { 0, CAUSE_MS * 1000000L };

    if (nanosleep(&pause, NULL) != 0) {
        must_end = 1;
    }
}

NOINLINE void prepare_batch(void);
void prepare_batch(void)
{
    uint64_t end_ns = idle_job_now_ns() + CAUSE_MS * 1000000u;
    volatile unsigned sum = 0;

    while (idle_job_now_ns() < end_ns) {
        for (unsigned i = 0; i < 2000; i++) {
            sum += i;
        }
    }
}

NOINLINE void load_batch(void);
void load_batch(void)
{
    char byte;

    if (read(descriptor, &byte, 1) != 1) {
        must_end = 1;
    }
}

static void receive_batch(void)
{
    char byte;

    if (recv(descriptor, &byte, 1, 0) != 1) {
        must_end = 1;
    }
}

static void sleep_and_receive(void)
{
    pause_ms(CAUSE_MS * 2 / 3);
    uint64_t slept_ns = idle_job_now_ns();
    receive_batch();
    other_ns += idle_job_now_ns() - slept_ns;
}

static void poll_batch(void)
{
    struct pollfd ready = { .fd = descriptor, .events = POLLIN };

    (void)poll(&ready, 1, -1);
    load_batch();
}

/* CPU time of the calling thread. */
static uint64_t cpu_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Huge pages, because a fault of a small page is so short that the way into the kernel and back is
 * a large part of it; interrupts are off there, so samples of it are in user code. */
static void touch_pages(void)
{
    size_t bytes = PAGES_BYTES + HUGE_BYTES;
    uint64_t began_ns = cpu_ns();
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile char *aligned = memory + (-(uintptr_t)memory & (HUGE_BYTES - 1));

    (void)madvise((void *)aligned, PAGES_BYTES, MADV_HUGEPAGE);
    other_ns += cpu_ns() - began_ns;
    for (size_t i = 0; i < PAGES_BYTES; i += 4096) {
        aligned[i] = 1;
    }
    began_ns = cpu_ns();
    (void)munmap(memory, bytes);
    other_ns += cpu_ns() - began_ns;
}

/* Only the time without a CPU is caused by the quota. */
static void prepare_under_quota(void)
{
    uint64_t now_ns = idle_job_now_ns();
    uint64_t end_ns = now_ns + CAUSE_MS * 1000000u;

    while (now_ns < end_ns) {
        uint64_t last_ns = now_ns;
        now_ns = idle_job_now_ns();
        other_ns += now_ns - last_ns < OFF_CPU_NS ? now_ns - last_ns : 0;
    }
}

NOINLINE void meet_ranks(void);
void meet_ranks(void)
{
    (void)sem_post(&ranks->others_came[1 - own_rank]);
    if (sem_wait(&ranks->others_came[own_rank]) != 0) {
        must_end = 1;
    }
}

static void come_late(void)
{
    prepare_batch();
    uint64_t came_ns = idle_job_now_ns();
    meet_ranks();
    other_ns += idle_job_now_ns() - came_ns;
}

static void take_lock(void)
{
    (void)pthread_mutex_lock(&lock);
    (void)pthread_mutex_unlock(&lock);
}

static void wait_for_worker(void)
{
    (void)pthread_mutex_lock(&lock);
    wanted++;
    (void)pthread_cond_broadcast(&changed);
    while (made < wanted && !must_end) {
        (void)pthread_cond_wait(&changed, &lock);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* ---- other threads and processes ---- */

/* Holds the lock nearly all the time. */
static void *hold_lock(void *ctx)
{
    (void)ctx;
    while (!must_end) {
        (void)pthread_mutex_lock(&lock);
        pause_ms(CAUSE_MS);
        (void)pthread_mutex_unlock(&lock);
        pause_ms(2);
    }
    return NULL;
}

/* Turns a byte of the FIFO into a batch, whenever one is wanted. */
static void *work(void *ctx)
{
    (void)ctx;
    while (!must_end) {
        (void)pthread_mutex_lock(&lock);
        while (made == wanted) {
            (void)pthread_cond_wait(&changed, &lock);
        }
        (void)pthread_mutex_unlock(&lock);
        load_batch();
        (void)pthread_mutex_lock(&lock);
        made++;
        (void)pthread_cond_broadcast(&changed);
        (void)pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* Sends a byte at intervals to the job's end of the pair. own: a child of the job, otherwise a
 * process that does not belong to it. */
static void start_writer(int is_own)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) {
        exit(3);
    }
    descriptor = ends[0];
    if (fork() != 0) {
        close(ends[1]);
        return;
    }
    close(ends[0]);
    if (!is_own && fork() != 0) {
        _exit(0);
    }
    while (send(ends[1], "x", 1, MSG_NOSIGNAL) == 1) {
        pause_ms(CAUSE_MS + 3);
    }
    _exit(0);
}

static void start_thread(void *(*run)(void *ctx))
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run, NULL) != 0) {
        exit(3);
    }
}

/* Threads with hostile names that vanish at once, and processes that execute another program. */
static void *vanish(void *ctx)
{
    (void)prctl(PR_SET_NAME, "\x1b[31m\"};\n$(x)");
    return ctx;
}

static void *churn(void *ctx)
{
    while (!must_end) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, vanish, NULL) == 0) {
            (void)pthread_join(thread, NULL);
        }
        if (vfork() == 0) {
            (void)execl("/bin/true", "\x1b[2J", (char *)NULL);
            _exit(1);
        }
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
        pause_ms(1);
    }
    return ctx;
}

/* Blocks for as long as the job lives. */
static void *stay(void *ctx)
{
    (void)pause();
    return ctx;
}

static void start_churn(void)
{
    start_thread(churn);
}

/* Starts as many as the machine allows, at most ten thousand. */
static void start_crowd(void)
{
    pthread_attr_t small;
    pthread_t thread;

    (void)pthread_attr_init(&small);
    (void)pthread_attr_setstacksize(&small, 64 * 1024);
    for (int i = 0; i < CROWD && pthread_create(&thread, &small, stay, NULL) == 0; i++) {
    }
}

static void start_worker(void)
{
    start_thread(work);
}

static void start_holder(void)
{
    start_thread(hold_lock);
}

static void map_ranks(void)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);

    if (fd < 0 || ftruncate(fd, sizeof *ranks) != 0) {
        exit(3);
    }
    ranks = mmap(NULL, sizeof *ranks, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (ranks == MAP_FAILED) {
        exit(3);
    }
}

static void start_early_rank(void)
{
    map_ranks();
    (void)sem_init(&ranks->others_came[0], 1, 0);
    (void)sem_init(&ranks->others_came[1], 1, 0);
}

static void start_late_rank(void)
{
    own_rank = 1;
    map_ranks();
}

static void start_own_writer(void)
{
    start_writer(1);
}

static void start_other_writer(void)
{
    start_writer(0);
}

static const struct {
    const char *name;
    void (*start)(void);
    void (*cause)(void);
} kinds[] = {
    { "sleep", NULL, wait_by_sleep },
    { "running", NULL, prepare_batch },
    { "fifo", NULL, load_batch },
    { "network", start_other_writer, receive_batch },
    { "poll", start_other_writer, poll_batch },
    { "mixed", start_other_writer, sleep_and_receive },
    { "page-fault", NULL, touch_pages },
    { "lock", start_holder, take_lock },
    { "worker", start_worker, wait_for_worker },
    { "child", start_own_writer, load_batch },
    { "churn", start_churn, wait_by_sleep },
    { "crowd", start_crowd, wait_by_sleep },
    { "quota", NULL, prepare_under_quota },
    { "early-rank", start_early_rank, meet_ranks },
    { "late-rank", start_late_rank, come_late },
};

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = on_term };
    uint64_t cause_ns = 0;
    size_t kind = 0;

    while (argc > 1 && kind < sizeof kinds / sizeof *kinds &&
           strcmp(kinds[kind].name, argv[1]) != 0) {
        kind++;
    }
    if (argc < 2 || kind == sizeof kinds / sizeof *kinds || idle_job_begin() < 0) {
        return 2;
    }
    (void)sigaction(SIGTERM, &action, NULL);
    path = argc > 2 ? argv[2] : "";
    descriptor = open(path, O_RDONLY);
    if (kinds[kind].start) {
        kinds[kind].start();
    }
    (void)printf("ready\n");
    (void)fflush(stdout);
    while (!must_end) {
        idle_job_execute();
        uint64_t began_ns = idle_job_now_ns();
        kinds[kind].cause();
        cause_ns += idle_job_now_ns() - began_ns;
    }
    idle_job_report(cause_ns - other_ns);
    _exit(0);
}
