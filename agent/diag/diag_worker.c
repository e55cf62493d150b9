/* SPDX-License-Identifier: MIT */
#include "agent/diag/diag_worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/diag/diag_answers.h"
#include "runtime-hooks/nrt/nrt_io.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/base/write_all.h"

#define NEFF_BYTES_MAX ((size_t)4 << 30)
#define TENSORS_MAX 256u
#define WORDS_BYTES 16384u

/* ---- the runtime's stderr: its last lines explain a rejection ---- */

static void words_catch(void)
{
    int fd = memfd_create("diag", MFD_CLOEXEC);

    if (fd >= 0) {
        (void)dup2(fd, STDERR_FILENO);
        close(fd);
    }
}

static void words_forget(void)
{
    if (ftruncate(STDERR_FILENO, 0) == 0) {
        (void)lseek(STDERR_FILENO, 0, SEEK_SET);
    }
}

/* Returns the last message, without time, process and place: "<date> <time> <pid:tid> ERROR
 * MODULE:function <message>". Skips advice about support requests. "" without a message. */
static void words_read(char *out, size_t out_bytes)
{
    static char text[WORDS_BYTES];
    off_t end = lseek(STDERR_FILENO, 0, SEEK_CUR);
    off_t from = end >= (off_t)sizeof text ? end - (off_t)sizeof text + 1 : 0;
    ssize_t got = end > 0 ? pread(STDERR_FILENO, text, sizeof text - 1, from) : 0;
    char *rest = NULL;

    out[0] = '\0';
    text[got > 0 ? got : 0] = '\0';
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *sentence = strstr(line, " ERROR ");

        if (strstr(line, "nrt_infodump")) {
            continue;
        }
        if (sentence) {
            sentence += strlen(" ERROR ");
            sentence += strspn(sentence, " ");
            sentence += strcspn(sentence, " ");
            sentence += strspn(sentence, " ");
        } else {
            sentence = line;
        }
        ntk_str_copy_clean(out, out_bytes, sentence, strlen(sentence));
    }
}

/* ---- messages ---- */

static void message_write(const struct ntk_diag_worker *worker,
                          const struct ntk_diag_message *message)
{
    /* The message is smaller than PIPE_BUF, so the write is atomic. */
    (void)ntk_write_all(worker->fd, message, sizeof *message);
}

struct ntk_diag_result ntk_diag_worker_begin(struct ntk_diag_worker *worker,
                                             enum ntk_diag_test test, const char *part)
{
    const struct ntk_diag_plan *plan = worker->plan;
    struct ntk_diag_message message = { .kind = NTK_DIAG_BEGINS };

    message.result = ntk_diag_result_make(test, NTK_DIAG_PASS,
                                          (int)(worker->work->core / plan->cores_per_device),
                                          (int)worker->work->core);
    ntk_str_copy(message.result.part, sizeof message.result.part, part);
    words_forget();
    worker->began_ns = ntk_clock_now_ns(worker->clock);
    message_write(worker, &message);
    return message.result;
}

void ntk_diag_worker_tell(struct ntk_diag_worker *worker, struct ntk_diag_result *result)
{
    struct ntk_diag_message message = { .kind = NTK_DIAG_RESULT };

    result->took_ns = ntk_clock_now_ns(worker->clock) - worker->began_ns;
    worker->bad_count += result->verdict == NTK_DIAG_FAIL;
    if (worker->is_quiet && result->verdict != NTK_DIAG_FAIL) {
        return;
    }
    message.result = *result;
    message_write(worker, &message);
}

void ntk_diag_worker_refused(struct ntk_diag_worker *worker, struct ntk_diag_result *result,
                             NRT_STATUS status, const char *call)
{
    char words[200];

    words_read(words, sizeof words);
    worker->is_dead = worker->is_dead || status == NRT_EXEC_UNIT_UNRECOVERABLE;
    result->verdict = NTK_DIAG_FAIL;
    ntk_diag_say(result, "%s failed: %s (%d)%s%s", call, ntk_nrt_status_name(&worker->nrt, status),
                 (int)status, words[0] ? ": " : "", words);
}

bool ntk_diag_worker_differ(struct ntk_diag_result *result, const uint8_t *got,
                            const uint8_t *expected, size_t bytes, uint64_t base)
{
    uint64_t bits = 0;
    size_t first = bytes;

    if (memcmp(got, expected, bytes) == 0) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        if (got[i] != expected[i]) {
            first = i < first ? i : first;
            bits += (unsigned)__builtin_popcount(got[i] ^ expected[i]);
        }
    }
    result->verdict = NTK_DIAG_FAIL;
    result->is_corruption = true;
    base += first;
    ntk_diag_say(result, "%llu wrong %s in %zu bytes, first at byte %llu: 0x%02x instead of 0x%02x",
                 (unsigned long long)bits, bits == 1 ? "bit" : "bits", bytes,
                 (unsigned long long)base, got[first], expected[first]);
    return true;
}

/* ---- a program and its tensors ---- */

struct loaded {
    nrt_model_t *model;
    struct ntk_nrt_io io;
};

static NRT_STATUS loaded_make(struct ntk_diag_worker *worker, const uint8_t *bytes, size_t count,
                              struct loaded *loaded, const char **out_call)
{
    const struct ntk_nrt *nrt = &worker->nrt;
    NRT_STATUS status;

    *out_call = "nrt_load";
    status = nrt->nrt_load(bytes, count, 0, 1, &loaded->model);
    if (status == NRT_SUCCESS) {
        status = ntk_nrt_io_open(nrt, loaded->model, &loaded->io, out_call);
    }
    if (status == NRT_SUCCESS && loaded->io.infos->tensor_count > TENSORS_MAX) {
        *out_call = "loading a NEFF with too many tensors";
        status = NRT_UNSUPPORTED_NEFF_VERSION;
    }
    for (uint64_t i = 0; status == NRT_SUCCESS && i < loaded->io.infos->tensor_count; i++) {
        status = ntk_nrt_io_add(nrt, &loaded->io, i, 0, out_call);
    }
    return status;
}

static void loaded_free(struct ntk_diag_worker *worker, struct loaded *loaded)
{
    ntk_nrt_io_close(&worker->nrt, &loaded->io);
    if (loaded->model) {
        (void)worker->nrt.nrt_unload(loaded->model);
    }
}

static NRT_STATUS execute(struct ntk_diag_worker *worker, struct loaded *loaded,
                          const char **out_call)
{
    *out_call = "nrt_execute";
    return worker->nrt.nrt_execute(loaded->model, loaded->io.sets[0], loaded->io.sets[1]);
}

/* ---- known answers ---- */

/* Finds each tensor by name: writes inputs, and fills the output with wrong values. */
static NRT_STATUS answer_fill(struct ntk_diag_worker *worker, const struct loaded *loaded,
                              size_t index, uint32_t round, uint8_t *buffer, const char **out_call)
{
    NRT_STATUS status = NRT_SUCCESS;

    for (uint64_t i = 0; status == NRT_SUCCESS && i < loaded->io.infos->tensor_count; i++) {
        const nrt_tensor_info_t *info = &loaded->io.infos->tensor_array[i];
        size_t bytes;

        if (info->usage == NRT_TENSOR_USAGE_INPUT) {
            bytes = ntk_diag_answer_input(index, info->name[0] == 'a' ? 0 : 1, round, buffer);
        } else {
            bytes = ntk_diag_answer_expect(index, round, buffer);
            for (size_t k = 0; k < bytes; k++) {
                buffer[k] = (uint8_t)~buffer[k];
            }
        }
        *out_call = "nrt_tensor_write";
        status = bytes == info->size
                     ? worker->nrt.nrt_tensor_write(loaded->io.tensors[i], buffer, 0, bytes)
                     : NRT_INVALID;
    }
    return status;
}

static NRT_STATUS answer_read(struct ntk_diag_worker *worker, const struct loaded *loaded,
                              uint8_t *buffer, size_t bytes)
{
    for (uint64_t i = 0; i < loaded->io.infos->tensor_count; i++) {
        const nrt_tensor_info_t *info = &loaded->io.infos->tensor_array[i];

        if (info->usage != NRT_TENSOR_USAGE_INPUT && info->size == bytes) {
            return worker->nrt.nrt_tensor_read(loaded->io.tensors[i], buffer, 0, bytes);
        }
    }
    return NRT_INVALID;
}

static void answer_compare(struct ntk_diag_worker *worker, const struct loaded *loaded,
                           size_t index, uint32_t round, struct ntk_diag_result *result)
{
    static uint8_t got[NTK_DIAG_ANSWER_BYTES_MAX];
    static uint8_t expected[NTK_DIAG_ANSWER_BYTES_MAX];
    size_t bytes = ntk_diag_answer_expect(index, round, expected);
    NRT_STATUS status = answer_read(worker, loaded, got, bytes);

    if (status != NRT_SUCCESS) {
        ntk_diag_worker_refused(worker, result, status, "nrt_tensor_read");
        return;
    }
    if (ntk_diag_worker_differ(result, got, expected, bytes, 0)) {
        char found[sizeof result->reason];

        /* The runtime reported success, so no other process detects this error. */
        (void)snprintf(found, sizeof found, "%.200s", result->reason);
        ntk_diag_say(result, "silently wrong answer: %.200s", found);
    }
}

void ntk_diag_answer_test(struct ntk_diag_worker *worker, size_t index, uint32_t local,
                          uint32_t round)
{
    char part[64];
    static uint8_t buffer[NTK_DIAG_ANSWER_BYTES_MAX];
    struct ntk_diag_result result;
    struct loaded loaded = { .model = NULL };
    struct ntk_err err = { 0 };
    const char *call = "";
    uint8_t *neff = NULL;
    size_t count = 0;

    (void)snprintf(part, sizeof part, worker->plan->lnc > 1 ? "%s@%u" : "%s",
                   ntk_diag_answer_name(index), local);
    result = ntk_diag_worker_begin(worker, NTK_DIAG_ANSWER_TEST, part);
    if (ntk_diag_answer_program(index, worker->plan->tensor_columns, worker->plan->lnc, local,
                                &neff, &count, &err) < 0) {
        result.verdict = NTK_DIAG_FAIL;
        ntk_diag_say(&result, "cannot build the program: %.200s", err.text);
        ntk_diag_worker_tell(worker, &result);
        return;
    }
    NRT_STATUS status = loaded_make(worker, neff, count, &loaded, &call);
    if (status == NRT_SUCCESS) {
        status = answer_fill(worker, &loaded, index, round, buffer, &call);
    }
    if (status == NRT_SUCCESS) {
        status = execute(worker, &loaded, &call);
    }
    if (status == NRT_SUCCESS) {
        answer_compare(worker, &loaded, index, round, &result);
    } else {
        ntk_diag_worker_refused(worker, &result, status, call);
    }
    loaded_free(worker, &loaded);
    free(neff);
    ntk_diag_worker_tell(worker, &result);
}

static void answers_test(struct ntk_diag_worker *worker, uint32_t round)
{
    if (worker->plan->neff) {
        ntk_diag_neff_test(worker);
    }
    if (worker->plan->is_software) {
        for (uint32_t local = 0; local < worker->plan->lnc; local++) {
            for (size_t i = 0; i < ntk_diag_answer_count() && !worker->is_dead; i++) {
                ntk_diag_answer_test(worker, i, local, round);
            }
        }
    } else if (!worker->plan->neff) {
        struct ntk_diag_result result = ntk_diag_worker_begin(worker, NTK_DIAG_ANSWER_TEST, "");

        result.verdict = NTK_DIAG_SKIP;
        ntk_diag_say(&result, "hardware cannot run the programs with known answers: pass a "
                              "compiled NEFF with --neff");
        ntk_diag_worker_tell(worker, &result);
    }
}

/* ---- a program of the user ---- */

/* Writes the same bytes each time, without a type: numbers near 1 if read as float32. */
static NRT_STATUS neff_fill(struct ntk_diag_worker *worker, const struct loaded *loaded)
{
    for (uint64_t i = 0; i < loaded->io.infos->tensor_count; i++) {
        const nrt_tensor_info_t *info = &loaded->io.infos->tensor_array[i];
        uint8_t *bytes = calloc(1, info->size + 1);
        NRT_STATUS status = NRT_RESOURCE;

        for (size_t k = 0; bytes && info->usage == NRT_TENSOR_USAGE_INPUT && k < info->size; k++) {
            bytes[k] = k % 4 == 3 ? 0x3f : k % 4 == 2 ? 0x80 : (uint8_t)(k * 37 / 4);
        }
        if (bytes) {
            status = worker->nrt.nrt_tensor_write(loaded->io.tensors[i], bytes, 0, info->size);
        }
        free(bytes);
        if (status != NRT_SUCCESS) {
            return status;
        }
    }
    return NRT_SUCCESS;
}

/* Computes FNV-1a over all outputs in order. */
static NRT_STATUS neff_digest(struct ntk_diag_worker *worker, const struct loaded *loaded,
                              uint64_t *out_digest)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);

    for (uint64_t i = 0; i < loaded->io.infos->tensor_count; i++) {
        const nrt_tensor_info_t *info = &loaded->io.infos->tensor_array[i];
        uint8_t *bytes;
        NRT_STATUS status = NRT_RESOURCE;

        if (info->usage == NRT_TENSOR_USAGE_INPUT) {
            continue;
        }
        bytes = malloc(info->size + 1);
        if (bytes) {
            status = worker->nrt.nrt_tensor_read(loaded->io.tensors[i], bytes, 0, info->size);
        }
        for (size_t k = 0; status == NRT_SUCCESS && k < info->size; k++) {
            digest = (digest ^ bytes[k]) * UINT64_C(0x100000001b3);
        }
        free(bytes);
        if (status != NRT_SUCCESS) {
            return status;
        }
    }
    *out_digest = digest;
    return NRT_SUCCESS;
}

void ntk_diag_neff_test(struct ntk_diag_worker *worker)
{
    struct ntk_diag_result result =
        ntk_diag_worker_begin(worker, NTK_DIAG_ANSWER_TEST, ntk_str_base_name(worker->plan->neff));
    struct loaded loaded = { .model = NULL };
    struct ntk_err err = { 0 };
    uint64_t digests[3] = { 0 };
    const char *call = "";
    uint8_t *neff = NULL;
    size_t count = 0;

    if (ntk_fs_read(worker->plan->neff, NEFF_BYTES_MAX, &neff, &count, &err) < 0) {
        result.verdict = NTK_DIAG_FAIL;
        ntk_diag_say(&result, "%.200s", err.text);
        ntk_diag_worker_tell(worker, &result);
        return;
    }
    NRT_STATUS status = loaded_make(worker, neff, count, &loaded, &call);
    for (int i = 0; i < 3 && status == NRT_SUCCESS; i++) {
        call = "nrt_tensor_write";
        status = neff_fill(worker, &loaded);
        if (status == NRT_SUCCESS) {
            status = execute(worker, &loaded, &call);
        }
        if (status == NRT_SUCCESS) {
            call = "nrt_tensor_read";
            status = neff_digest(worker, &loaded, &digests[i]);
        }
    }
    if (status != NRT_SUCCESS) {
        ntk_diag_worker_refused(worker, &result, status, call);
    } else if (digests[0] != digests[1] || digests[1] != digests[2]) {
        result.verdict = NTK_DIAG_FAIL;
        result.is_corruption = true;
        ntk_diag_say(&result,
                     "the same inputs gave different outputs: digests %016llx, %016llx, %016llx",
                     (unsigned long long)digests[0], (unsigned long long)digests[1],
                     (unsigned long long)digests[2]);
    } else {
        ntk_diag_say(&result, "digest %016llx", (unsigned long long)digests[0]);
    }
    loaded_free(worker, &loaded);
    free(neff);
    ntk_diag_worker_tell(worker, &result);
}

/* ---- jobs ---- */

static void burn_round(struct ntk_diag_worker *worker, uint32_t number)
{
    answers_test(worker, number);
    ntk_diag_pattern_tests(worker);
    ntk_diag_copy_tests(worker);
}

void ntk_diag_burn(struct ntk_diag_worker *worker,
                   void (*round)(struct ntk_diag_worker *worker, uint32_t number))
{
    uint64_t began_ns = ntk_clock_now_ns(worker->clock);
    uint32_t rounds = 0;

    worker->is_quiet = true;
    do {
        round(worker, ++rounds);
    } while (ntk_clock_now_ns(worker->clock) - began_ns < worker->plan->duration_ns &&
             worker->bad_count < NTK_DIAG_BURN_BAD_MAX && !worker->is_dead);
    worker->is_quiet = false;

    uint64_t bad_count = worker->bad_count;
    struct ntk_diag_result result = ntk_diag_worker_begin(worker, NTK_DIAG_BURN_IN_TEST, "");
    worker->began_ns = began_ns;
    result.has_figure = true;
    result.figure = rounds;
    if (bad_count > 0) {
        result.verdict = NTK_DIAG_FAIL;
        ntk_diag_say(&result, "%llu tests failed in %u rounds%s", (unsigned long long)bad_count,
                     rounds,
                     bad_count >= NTK_DIAG_BURN_BAD_MAX || worker->is_dead ? "; stopped" : "");
    } else {
        ntk_diag_say(&result, "%u %s without errors", rounds, rounds == 1 ? "round" : "rounds");
    }
    ntk_diag_worker_tell(worker, &result);
}

static void job_run(struct ntk_diag_worker *worker)
{
    switch (worker->work->job) {
    case NTK_DIAG_JOB_TESTS:
        answers_test(worker, 0);
        ntk_diag_pattern_tests(worker);
        if (worker->plan->level >= 3) {
            ntk_diag_copy_tests(worker);
        }
        break;
    case NTK_DIAG_JOB_RANK:
        ntk_diag_rank_tests(worker);
        break;
    case NTK_DIAG_JOB_BURN:
        ntk_diag_burn(worker, burn_round);
        break;
    case NTK_DIAG_JOB_CANARY:
        if (worker->plan->neff) {
            ntk_diag_neff_test(worker);
        } else {
            ntk_diag_answer_test(worker, worker->work->round % ntk_diag_answer_count(),
                                 worker->work->round / (uint32_t)ntk_diag_answer_count() %
                                     worker->plan->lnc,
                                 worker->work->round);
        }
        break;
    case NTK_DIAG_JOB_LOOK:
        break;
    }
}

static int look(struct ntk_diag_worker *worker)
{
    struct ntk_diag_message message = { .kind = NTK_DIAG_MACHINE };
    nrt_version_t version = { 0 };
    uint32_t cores = 0;

    (void)ntk_str_copy(message.machine.library, sizeof message.machine.library, worker->nrt.path);
    message.machine.is_software = worker->nrt.is_software;
    if (worker->nrt.nrt_get_version &&
        worker->nrt.nrt_get_version(&version, sizeof version) == NRT_SUCCESS) {
        (void)snprintf(message.machine.runtime, sizeof message.machine.runtime,
                       "%llu.%llu.%llu.%llu", (unsigned long long)version.rt_major,
                       (unsigned long long)version.rt_minor, (unsigned long long)version.rt_patch,
                       (unsigned long long)version.rt_maintenance);
    }
    if (worker->nrt.nrt_get_total_vnc_count &&
        worker->nrt.nrt_get_total_vnc_count(&cores) == NRT_SUCCESS) {
        message.machine.core_count = cores;
    } else if (worker->nrt.nrt_get_total_nc_count &&
               worker->nrt.nrt_get_total_nc_count(&cores) == NRT_SUCCESS) {
        message.machine.core_count = cores;
    }
    message_write(worker, &message);
    return 0;
}

static void environment_set(const struct ntk_diag_work *work)
{
    char core[16];

    (void)snprintf(core, sizeof core, "%u", work->core);
    (void)setenv("NEURON_RT_VISIBLE_CORES", core, 1);
    (void)unsetenv("NEURON_RT_NUM_CORES");
    (void)unsetenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS");
    (void)unsetenv("NEURON_RT_INSPECT_ENABLE");
    (void)setenv("NEURON_PROCESS_TAG", "neuron-monitor diag", 1);
    if (work->job == NTK_DIAG_JOB_CANARY) {
        (void)setenv("NEURON_HOOKS", "0", 1); /* diagnoses must not appear in reports */
    }
    if (work->ranks > 0) {
        (void)setenv("NEURON_RT_ROOT_COMM_ID", work->meeting, 1);
    }
}

int ntk_diag_worker(const struct ntk_diag_plan *plan, const struct ntk_diag_work *work, int fd)
{
    struct ntk_diag_worker worker = { .plan = plan, .work = work, .fd = fd };
    struct ntk_err err = { 0 };
    bool looks = work->job == NTK_DIAG_JOB_LOOK;

    words_catch();
    if (!looks) {
        environment_set(work);
    }
    if (work->job == NTK_DIAG_JOB_CANARY && !ntk_diag_owner_yield(plan, work->core)) {
        return 0;
    }
    struct ntk_diag_result result =
        ntk_diag_worker_begin(&worker, looks ? NTK_DIAG_RUNTIME_TEST : NTK_DIAG_CORE_TEST, "");
    if (looks) {
        result.device = -1;
        result.core = -1;
    }
    if (ntk_nrt_open_on(plan->has_driver, &worker.nrt, &err) < 0) {
        result.verdict = NTK_DIAG_FAIL;
        ntk_diag_say(&result, "%.300s", err.text);
        ntk_diag_worker_tell(&worker, &result);
        return 1;
    }
    if (looks) {
        return look(&worker);
    }
    NRT_STATUS status = worker.nrt.nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
    if (status != NRT_SUCCESS) {
        ntk_diag_worker_refused(&worker, &result, status, "nrt_init");
        if (work->job == NTK_DIAG_JOB_CANARY) {
            result.verdict = NTK_DIAG_SKIP; /* another process took the core first */
            worker.is_quiet = false;
        }
        ntk_diag_worker_tell(&worker, &result);
        return 1;
    }
    worker.is_quiet = work->job != NTK_DIAG_JOB_TESTS;
    ntk_diag_worker_tell(&worker, &result);
    worker.is_quiet = false;
    job_run(&worker);
    worker.nrt.nrt_close();
    return 0;
}
