/* SPDX-License-Identifier: MIT */
/* Executions of every kind, and what is counted for them. */
#include "tests/runtime-hooks/interpose/client/client.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TENSORS_MAX 256
#define STATUS_MAX 2048
#define THREADS_MAX 16
#define NRTA_UNDER_WAY 8
#define FNV_START UINT64_C(14695981039346656037)
#define FNV_TIMES UINT64_C(1099511628211)

static atomic_uint_fast64_t counts[STATUS_MAX];
static uint64_t tensors_made;
static uint64_t tensor_bytes;
static uint64_t models_loaded;
static uint64_t hash = FNV_START;

static nrt_model_t *model;
static nrt_tensor_t *tensors[TENSORS_MAX];
static size_t tensor_count;
static nrt_tensor_set_t *sets[2]; /* by usage */
static nrt_tensor_set_t *empty_set;
static nrt_tensor_t *outputs[TENSORS_MAX];
static size_t output_bytes[TENSORS_MAX];
static size_t output_count;

void client_fail(const char *what, int status)
{
    (void)fprintf(stderr, "client: %s answers %d\n", what, status);
    exit(1);
}

static void check(const char *what, NRT_STATUS status)
{
    if (status != NRT_SUCCESS) {
        client_fail(what, (int)status);
    }
}

void client_count(NRT_STATUS status, uint64_t executions)
{
    atomic_fetch_add(&counts[(unsigned int)status % STATUS_MAX], executions);
}

void client_forget(void)
{
    memset(counts, 0, sizeof counts);
    tensors_made = 0;
    tensor_bytes = 0;
    models_loaded = 0;
    model = NULL;
    tensor_count = 0;
    output_count = 0;
    hash = FNV_START;
}

void client_tell(void)
{
    char line[4096];
    int length = snprintf(line, sizeof line, "client %d", (int)getpid());

    for (unsigned int i = 0; i < STATUS_MAX; i++) {
        uint64_t count = atomic_load(&counts[i]);
        if (count > 0) {
            length += snprintf(line + length, sizeof line - (size_t)length, " %u=%llu", i,
                               (unsigned long long)count);
        }
    }
    length += snprintf(line + length, sizeof line - (size_t)length,
                       " tensors=%llu bytes=%llu models=%llu y=%016llx\n",
                       (unsigned long long)tensors_made, (unsigned long long)tensor_bytes,
                       (unsigned long long)models_loaded, (unsigned long long)hash);
    if (write(STDOUT_FILENO, line, (size_t)length) != length) {
        _exit(1);
    }
}

static nrt_tensor_t *tensor_make(size_t bytes, const char *name)
{
    nrt_tensor_t *tensor = NULL;

    if (tensor_count == TENSORS_MAX) {
        client_fail("a client of so many tensors", (int)tensor_count);
    }
    check("nrt_tensor_allocate",
          CALL(nrt_tensor_allocate)(NRT_TENSOR_PLACEMENT_DEVICE, 0, bytes, name, &tensor));
    tensors[tensor_count++] = tensor;
    tensors_made++;
    tensor_bytes += bytes;
    return tensor;
}

static void model_load(const char *path)
{
    nrt_tensor_info_array_t *info = NULL;
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &file) != 0) {
        client_fail(path, fd);
    }
    void *neff = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    check("nrt_load", CALL(nrt_load)(neff, (size_t)file.st_size, 0, 1, &model));
    munmap(neff, (size_t)file.st_size);
    models_loaded++;
    check("nrt_get_model_tensor_info", CALL(nrt_get_model_tensor_info)(model, &info));
    check("nrt_allocate_tensor_set", CALL(nrt_allocate_tensor_set)(&sets[0]));
    check("nrt_allocate_tensor_set", CALL(nrt_allocate_tensor_set)(&sets[1]));
    check("nrt_allocate_tensor_set", CALL(nrt_allocate_tensor_set)(&empty_set));
    for (uint64_t i = 0; i < info->tensor_count; i++) {
        const nrt_tensor_info_t *one = &info->tensor_array[i];
        nrt_tensor_t *tensor = tensor_make(one->size, one->name);
        unsigned char *bytes = malloc(one->size);

        for (size_t k = 0; bytes && k < one->size; k++) {
            bytes[k] = (unsigned char)(k % 61); /* as floats: small, and never NaN */
        }
        check("nrt_tensor_write", CALL(nrt_tensor_write)(tensor, bytes, 0, one->size));
        free(bytes);
        check("nrt_add_tensor_to_tensor_set",
              CALL(nrt_add_tensor_to_tensor_set)(sets[one->usage], one->name, tensor));
        if (one->usage == NRT_TENSOR_USAGE_OUTPUT) {
            output_bytes[output_count] = one->size;
            outputs[output_count++] = tensor;
        }
    }
    check("nrt_free_model_tensor_info", CALL(nrt_free_model_tensor_info)(info));
}

void client_open(void)
{
    const char *path = getenv("CLIENT_NEFF");

    if (model) {
        return;
    }
    check("nrt_init", CALL(nrt_init)(NRT_FRAMEWORK_TYPE_PYTORCH, "2.5", "1.0"));
    model_load(path ? path : "model.neff");
}

static void outputs_hash(void)
{
    for (size_t i = 0; i < output_count; i++) {
        unsigned char *bytes = malloc(output_bytes[i]);

        if (!bytes || CALL(nrt_tensor_read)(outputs[i], bytes, 0, output_bytes[i]) != NRT_SUCCESS) {
            client_fail("nrt_tensor_read", (int)i);
        }
        for (size_t k = 0; k < output_bytes[i]; k++) {
            hash = (hash ^ bytes[k]) * FNV_TIMES;
        }
        free(bytes);
    }
    output_count = 0;
}

void client_unload(void)
{
    check("nrt_unload", CALL(nrt_unload)(model));
    model = NULL;
}

void client_close(void)
{
    outputs_hash();
    if (model) {
        client_unload();
    }
    for (size_t i = 0; i < tensor_count; i++) {
        CALL(nrt_tensor_free)(&tensors[i]);
    }
    tensor_count = 0;
    CALL(nrt_destroy_tensor_set)(&sets[0]);
    CALL(nrt_destroy_tensor_set)(&sets[1]);
    CALL(nrt_destroy_tensor_set)(&empty_set);
    CALL(nrt_close)();
}

NRT_STATUS client_execute(void)
{
    NRT_STATUS status = CALL(nrt_execute)(model, sets[0], sets[1]);

    client_count(status, 1);
    return status;
}

bool client_execute_or_not(void)
{
    NRT_STATUS status = CALL(nrt_execute)(model, sets[0], sets[1]);

    if (status == NRT_SUCCESS) {
        client_count(status, 1);
    }
    return status == NRT_SUCCESS;
}

/* ---- several threads ---- */

static void *thread_executes(void *ctx)
{
    const uint64_t *number = ctx;

    for (uint64_t i = 0; i < *number; i++) {
        (void)client_execute();
    }
    return NULL;
}

static void execute_from_threads(uint64_t number)
{
    pthread_t threads[THREADS_MAX / 4];

    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        if (pthread_create(&threads[i], NULL, thread_executes, &number) != 0) {
            client_fail("pthread_create", (int)i);
        }
    }
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* ---- the implicit asynchronous form ---- */

static sem_t may_return;

static void ended(void *params, uint32_t model_id, uint32_t vnc, uint64_t job_id, NRT_STATUS status)
{
    (void)model_id;
    (void)vnc;
    (void)job_id;
    client_count(status, 1);
    while (params && sem_wait(params) != 0) {
    }
}

static void execute_implicitly(uint64_t number)
{
    check("nrt_register_async_exec_callback", CALL(nrt_register_async_exec_callback)(ended, NULL));
    for (uint64_t i = 0; i < number; i++) {
        NRT_STATUS status = NRT_QUEUE_FULL;

        while ((status = CALL(nrt_execute)(model, sets[0], sets[1])) == NRT_QUEUE_FULL) {
            client_count(status, 1);
            sched_yield();
        }
        check("nrt_execute", status);
    }
    check("nrt_async_drain_queued_execs", CALL(nrt_async_drain_queued_execs)(0));
}

/* While one execution runs and its callback waits, the others find the queue full. */
static void fill_the_queue(uint64_t number)
{
    sem_init(&may_return, 0, 0);
    check("nrt_register_async_exec_callback",
          CALL(nrt_register_async_exec_callback)(ended, &may_return));
    check("nrt_execute", CALL(nrt_execute)(model, sets[0], sets[1]));
    for (uint64_t i = 0; i < number; i++) {
        (void)client_execute();
    }
    sem_post(&may_return);
    check("nrt_async_drain_queued_execs", CALL(nrt_async_drain_queued_execs)(0));
}

/* ---- the explicit asynchronous form ---- */

static void complete(nrta_seq_t sequence)
{
    bool is_completed = false;

    while (!is_completed) {
        check("nrta_is_completed", CALL(nrta_is_completed)(sequence, &is_completed));
        sched_yield();
    }
}

#ifdef NRT_ASYNC_3
static void execute_explicitly(uint64_t number)
{
    static NRT_STATUS results[NRTA_UNDER_WAY];
    nrta_seq_t sequences[NRTA_UNDER_WAY];
    uint64_t ended_count = 0;

    for (uint64_t i = 0; i < number + NRTA_UNDER_WAY; i++) {
        if (i >= NRTA_UNDER_WAY && ended_count < number) {
            complete(sequences[i % NRTA_UNDER_WAY]);
            client_count(results[i % NRTA_UNDER_WAY], 1);
            ended_count++;
        }
        if (i < number) {
            check("nrta_execute_schedule",
                  CALL(nrta_execute_schedule)(model, sets[0], sets[1], 0,
                                              &results[i % NRTA_UNDER_WAY],
                                              &sequences[i % NRTA_UNDER_WAY]));
        }
    }
}
#else
static void execute_explicitly(uint64_t number)
{
    nrta_error_tracker_t *tracker = NULL;
    const nrta_error_t *errors = NULL;
    nrta_seq_t sequences[NRTA_UNDER_WAY];
    size_t error_count = 0;

    check("nrta_error_tracker_create", CALL(nrta_error_tracker_create)(0, &tracker));
    for (uint64_t i = 0; i < number + NRTA_UNDER_WAY; i++) {
        if (i >= NRTA_UNDER_WAY && i - NRTA_UNDER_WAY < number) {
            complete(sequences[i % NRTA_UNDER_WAY]);
        }
        if (i < number) {
            check("nrta_execute_schedule",
                  CALL(nrta_execute_schedule)(model, sets[0], sets[1], 0, tracker,
                                              &sequences[i % NRTA_UNDER_WAY]));
        }
    }
    check("nrta_error_tracker_get_list",
          CALL(nrta_error_tracker_get_list)(tracker, &errors, &error_count));
    for (size_t i = 0; i < error_count; i++) {
        client_count((NRT_STATUS)errors[i].error_code, 1);
    }
    client_count(NRT_SUCCESS, number - error_count);
    CALL(nrta_error_tracker_destroy)(tracker);
}
#endif

/* ---- by name ---- */

static void execute(uint64_t number)
{
    for (uint64_t i = 0; i < number; i++) {
        (void)client_execute();
    }
}

static void execute_repeatedly(uint64_t number)
{
    NRT_STATUS status = CALL(nrt_execute_repeat)(model, sets[0], sets[1], (int)number);

    client_count(status, status == NRT_SUCCESS ? number : 1);
}

static void execute_without_inputs(uint64_t number)
{
    for (uint64_t i = 0; i < number; i++) {
        client_count(CALL(nrt_execute)(model, empty_set, sets[1]), 1);
    }
}

static void make_tensors(uint64_t number)
{
    for (uint64_t i = 0; i < number; i++) {
        (void)tensor_make(4096 * (i + 1), "spare");
    }
}

static const struct {
    const char *name;
    void (*run)(uint64_t number);
} works[] = {
    { "sync", execute },
    { "repeat", execute_repeatedly },
    { "threads", execute_from_threads },
    { "async", execute_implicitly },
    { "full", fill_the_queue },
    { "nrta", execute_explicitly },
    { "bad", execute_without_inputs },
    { "tensors", make_tensors },
};

bool client_work(const char *name, uint64_t number)
{
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        if (strcmp(works[i].name, name) == 0) {
            client_open();
            works[i].run(number);
            return true;
        }
    }
    return false;
}

__attribute__((visibility("default"))) int client_main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char name[32];
        const char *colon = strchrnul(argv[i], ':');

        (void)snprintf(name, sizeof name, "%.*s", (int)(colon - argv[i]), argv[i]);
        uint64_t number = *colon ? strtoull(colon + 1, NULL, 10) : 1;
        if (!client_work(name, number) && !client_life(name, number) &&
            !(client_more && client_more(name, number))) {
            (void)fprintf(stderr, "client: no work is called %s\n", name);
            return 2;
        }
    }
    if (model) {
        client_close();
    }
    client_tell();
    return 0;
}
