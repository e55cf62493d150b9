/* SPDX-License-Identifier: MIT */
/*
 * A job that takes commands on standard input, one per line, and answers each line with one when it
 * is done: so a test controls every call.
 *
 *   init | close | load FILE VNC | collectives FILE VNC | unload | exec COUNT STATUS MICROSECONDS
 *   repeat COUNT STATUS MICROSECONDS | threads THREADS COUNT MICROSECONDS | leave | async
 *   until THREADS MICROSECONDS (executes until the next line; 0: the thread that reads it)
 *   alloc PLACEMENT VNC BYTES | slice | buffer | free      (the last tensor; a slice of it)
 *   end (a thread in an execution) | deep LINE (from further down the stack)
 *   again (executes the program again, in an execution, when the next line is there)
 *   crowd THREADS (each in an execution, all at one time)
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/runtime-hooks/attach/stub_libnrt.h"

#define TENSORS 4096

static struct stub_model *model;
static void *tensors[TENSORS];
static int tensor_count;
static long count;
static struct stub_order order;

/* Without a model all later commands are meaningless. */
static void load(const char *path, int vnc, int is_collective)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *neff = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &status) == 0) {
        neff = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    }
    if (neff == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    close(fd);
    model = NULL;
    if (is_collective) {
        (void)nrt_load_collectives(neff, (size_t)status.st_size, vnc, 1, 3, 4, &model);
    } else {
        (void)nrt_load(neff, (size_t)status.st_size, vnc, 1, &model);
    }
    if (model == NULL) {
        fprintf(stderr, "%s: not loaded\n", path);
        exit(1);
    }
}

static void *execute(void *ctx)
{
    long i;

    if (ctx != NULL) {
        pthread_setname_np(pthread_self(), "worker");
    }
    for (i = 0; i < count; i++) {
        (void)nrt_execute(model, &order, NULL);
    }
    return NULL;
}

static void *execute_without_inner_call(void *ctx)
{
    (void)nrt_execute_repeat(model, ctx, NULL, 1);
    return NULL;
}

static int has_line(int wait_ms)
{
    struct pollfd line = { STDIN_FILENO, POLLIN, 0 };

    return poll(&line, 1, wait_ms) > 0;
}

static atomic_bool is_over;

static void *execute_until_over(void *ctx)
{
    while (!is_over) {
        (void)nrt_execute(model, ctx, NULL);
    }
    return NULL;
}

static void execute_until_line(int number)
{
    pthread_t threads[64];
    int i;

    is_over = false;
    for (i = 0; i < number; i++) {
        pthread_create(&threads[i], NULL, execute_until_over, &order);
    }
    count = 1000;
    while (!has_line(number > 0 ? -1 : 0)) {
        (void)execute(NULL);
    }
    is_over = true;
    for (i = 0; i < number; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void execute_in_threads(int number)
{
    pthread_t threads[64];
    int i;

    for (i = 0; i < number; i++) {
        pthread_create(&threads[i], NULL, execute, &order);
    }
    for (i = 0; i < number; i++) {
        pthread_join(threads[i], NULL);
    }
}

static pthread_barrier_t crowd;

static void wait_for_crowd(void)
{
    (void)pthread_barrier_wait(&crowd);
}

/* One per thread; none exits before all have started. */
static void execute_in_crowd(int number)
{
    pthread_t *threads = calloc((size_t)number, sizeof *threads);
    pthread_attr_t small;
    int i;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&crowd, NULL, (unsigned)number);
    order.inside = wait_for_crowd;
    for (i = 0; i < number; i++) {
        if (pthread_create(&threads[i], &small, execute_without_inner_call, &order) != 0) {
            _exit(1);
        }
    }
    for (i = 0; i < number; i++) {
        pthread_join(threads[i], NULL);
    }
    free(threads);
}

static void *become_another(void *ctx)
{
    (void)ctx;
    (void)has_line(-1);
    execl("/proc/self/exe", "attach_client", (char *)NULL);
    _exit(1);
}

static void wait_for_ever(void)
{
    (void)pause();
}

static void execute_anew(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, become_another, NULL);
    order.inside = wait_for_ever;
    (void)nrt_execute(model, &order, NULL);
}

static void leave(void)
{
    jmp_buf place;
    struct stub_order jump = { .leave = &place };

    if (setjmp(place) == 0) {
        (void)nrt_execute(model, &jump, NULL);
    }
}

static void do_line(const char *line);

static void do_line_below(const char *line)
{
    volatile char room[65536];

    room[0] = 0;
    do_line(line);
    room[1] = room[0];
}

static void do_line(const char *line)
{
    char path[512];
    long a;
    long b;
    long c;

    memset(&order, 0, sizeof order);
    if (strcmp(line, "init") == 0) {
        (void)nrt_init(1, "", "");
    } else if (strcmp(line, "close") == 0) {
        nrt_close();
    } else if (sscanf(line, "load %511s %ld", path, &a) == 2) {
        load(path, (int)a, 0);
    } else if (sscanf(line, "collectives %511s %ld", path, &a) == 2) {
        load(path, (int)a, 1);
    } else if (strcmp(line, "unload") == 0) {
        (void)nrt_unload(model);
    } else if (sscanf(line, "exec %ld %d %ld", &count, &order.status, &order.microseconds) == 3) {
        (void)execute(NULL);
    } else if (sscanf(line, "repeat %ld %d %ld", &a, &order.status, &order.microseconds) == 3) {
        for (b = 0; b < a; b++) {
            (void)nrt_execute_repeat(model, &order, NULL, 3);
        }
    } else if (sscanf(line, "threads %ld %ld %ld", &a, &count, &order.microseconds) == 3) {
        execute_in_threads((int)a);
    } else if (sscanf(line, "until %ld %ld", &a, &order.microseconds) == 2) {
        execute_until_line((int)a);
    } else if (strncmp(line, "deep ", 5) == 0) {
        do_line_below(line + 5);
    } else if (strcmp(line, "end") == 0) {
        order.ends_thread = 1;
        count = 1;
        execute_in_threads(1);
    } else if (sscanf(line, "crowd %ld", &a) == 1) {
        execute_in_crowd((int)a);
    } else if (strcmp(line, "again") == 0) {
        execute_anew();
    } else if (strcmp(line, "leave") == 0) {
        leave();
    } else if (strcmp(line, "async") == 0) {
        (void)nrta_execute_schedule();
    } else if (sscanf(line, "alloc %ld %ld %ld", &a, &b, &c) == 3) {
        (void)nrt_tensor_allocate((int)a, (int)b, (size_t)c, "weights", &tensors[tensor_count++]);
    } else if (strcmp(line, "slice") == 0) {
        (void)nrt_tensor_allocate_slice(tensors[tensor_count - 1], 0, 1, "part",
                                        &tensors[tensor_count]);
        tensor_count++;
    } else if (strcmp(line, "buffer") == 0) {
        (void)nrt_tensor_attach_buffer(tensors[tensor_count - 1], &order, sizeof order);
    } else if (strcmp(line, "free") == 0) {
        nrt_tensor_free(&tensors[--tensor_count]);
    } else if (sscanf(line, "churn %ld", &a) == 1) {
        for (b = 0; b < a; b++) { /* one of two stays allocated */
            (void)nrt_tensor_allocate(0, 0, 1000, NULL, &tensors[tensor_count]);
            if (b % 2 == 0) {
                nrt_tensor_free(&tensors[tensor_count]);
            } else {
                tensor_count++;
            }
        }
    }
}

int main(void)
{
    char line[600];

    setvbuf(stdout, NULL, _IOLBF, 0);
    setvbuf(stdin, NULL, _IONBF,
            0); /* "again" has replaced the program: the next line is for the new one */
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        do_line(line);
        puts("done");
    }
    _exit(0); /* without freeing, as jobs do */
}
