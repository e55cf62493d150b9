/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/attach/attach_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime-hooks/attach/attach_elf.h"
#include "runtime-hooks/attach/attach_models.h"
#include "runtime-hooks/attach/attach_pace.h"
#include "runtime-hooks/attach/attach_probes.h"
#include "runtime-hooks/attach/attach_tensors.h"
#include "runtime-hooks/hooks/hooks.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/str.h"

#define MODULE "attach"
#define LOOK_MS 100
#define CHECK_NS (1 * NTK_NS_PER_SECOND) /* interval of checks for finished calls */
/* interval of checks whether the process has executed another program */
#define LOOK_AGAIN_NS (10 * NTK_NS_PER_SECOND)

struct writer {
    struct ntk_attach_process *process;
    const struct ntk_attach_options *options;
    struct ntk_attach_probes *probes;
    struct ntk_attach_models models;
    struct ntk_attach_tensors tensors;
    bool has_claimed;
    bool has_executions; /* executions are traced */
    bool is_init_seen;
    bool is_async_seen;
    struct ntk_attach_counts counts; /* counts at the previous pass */
    struct ntk_attach_judge judge;
    uint64_t looked_ns;
    uint64_t looked_again_ns;
    uint64_t tidied_ns;
};

/* ---- cores ---- */

static void claim(const struct ntk_attach_process *process, uint32_t logical)
{
    for (uint32_t i = 0; i < process->lnc; i++) {
        ntk_hooks_core_claim((uint16_t)(logical * process->lnc + i), logical, i == 0);
    }
}

/* The first physical core of one of the process's logical cores. If several are possible, the first
 * of them; the segment marks it as guessed. */
static uint16_t core_of(const struct writer *writer, int32_t vnc)
{
    const struct ntk_attach_process *process = writer->process;
    bool is_known = vnc >= 0 && (uint32_t)vnc < process->core_count;

    if (!is_known && process->core_count != 1) {
        ntk_hooks_behalf_flag(NTK_PROCESS_CORES_GUESSED);
    }
    uint32_t logical = process->cores[is_known ? vnc : 0];
    claim(process, logical);
    return (uint16_t)(logical * process->lnc);
}

/* Claims cores: a process has all its cores from nrt_init on, but guessed cores count only once
 * used. */
static void claim_all(struct writer *writer)
{
    for (uint32_t i = 0;
         !writer->has_claimed && !writer->process->cores_guessed && i < writer->process->core_count;
         i++) {
        claim(writer->process, writer->process->cores[i]);
    }
    writer->has_claimed = true;
}

/* ---- events ---- */

static void take_load(struct writer *writer, const struct ntk_attach_load *load)
{
    uint16_t core = load->event.status == 0 ? core_of(writer, load->event.vnc) : NTK_NO_CORE;
    char path[NTK_PATH_BYTES];

    ntk_attach_process_file_at(writer->process->pid, load->neff_address, path, sizeof path);
    ntk_attach_models_load(&writer->models, load, path, core, (uint16_t)writer->process->lnc);
}

static void take_event(const struct ntk_attach_event *event, size_t bytes, void *ctx)
{
    struct writer *writer = ctx;
    const struct ntk_attach_alloc *alloc = (const void *)event;
    uint16_t core;

    (void)bytes; /* the caller checked the size */
    claim_all(writer);
    ntk_hooks_behalf_at(event->end_ns != 0 ? event->end_ns : event->start_ns, event->tid,
                        event->comm);
    switch (event->kind) {
    case NTK_ATTACH_INIT:
        writer->is_init_seen = true;
        break;
    case NTK_ATTACH_CLOSE:
        ntk_attach_models_unload_all(&writer->models, event->start_ns);
        ntk_attach_tensors_remove_before(&writer->tensors, event->start_ns);
        ntk_attach_probes_forget_tensors(writer->probes, event->start_ns);
        break;
    case NTK_ATTACH_LOAD:
        take_load(writer, (const void *)event);
        break;
    case NTK_ATTACH_UNLOAD:
        ntk_attach_models_unload(&writer->models, event);
        break;
    case NTK_ATTACH_EXEC_BEGIN:
    case NTK_ATTACH_EXEC_END:
        core = ntk_attach_models_knows(&writer->models, event->handle) ? NTK_NO_CORE
                                                                       : core_of(writer, -1);
        if (writer->has_executions) {
            ntk_attach_models_execute(&writer->models, event, core, (uint16_t)writer->process->lnc);
        }
        break;
    case NTK_ATTACH_ALLOC:
    case NTK_ATTACH_SLICE:
        core = alloc->tensor.vnc >= 0 ? core_of(writer, alloc->tensor.vnc) : NTK_NO_CORE;
        ntk_attach_tensors_add(&writer->tensors, event->handle, &alloc->tensor, core, alloc->name);
        break;
    case NTK_ATTACH_FREE:
        ntk_attach_tensors_remove(&writer->tensors, event->handle, event->value);
        break;
    case NTK_ATTACH_ASYNC:
        writer->is_async_seen = true;
        break;
    default:
        break;
    }
}

/* ---- data without room in the ring ---- */

static void see_tensor(uint64_t handle, const struct ntk_attach_tensor *tensor, void *ctx)
{
    struct writer *writer = ctx;
    uint16_t core = tensor->vnc >= 0 ? core_of(writer, tensor->vnc) : NTK_NO_CORE;

    ntk_attach_tensors_add(&writer->tensors, handle, tensor, core, NULL);
    ntk_attach_tensors_see(&writer->tensors, handle, tensor->id);
}

static bool is_tensor_alive(uint64_t handle, uint64_t id, void *ctx)
{
    const struct writer *writer = ctx;
    struct ntk_attach_tensor tensor;

    return ntk_attach_probes_tensor(writer->probes, handle, &tensor) && tensor.id == id;
}

static void take_missed(const struct ntk_attach_missed_key *key,
                        const struct ntk_attach_missed *missed, void *ctx)
{
    struct writer *writer = ctx;
    uint16_t core =
        ntk_attach_models_knows(&writer->models, key->handle) ? NTK_NO_CORE : core_of(writer, -1);

    ntk_attach_models_missed(&writer->models, key, missed, core, (uint16_t)writer->process->lnc);
}

static bool is_call_running(uint32_t tid, uint64_t start_ns, void *ctx)
{
    const struct writer *writer = ctx;

    return ntk_attach_probes_is_running(writer->probes, tid, start_ns);
}

/* Processes everything that was reported since the last pass, including sums. */
static void look(struct writer *writer)
{
    uint64_t now_ns = ntk_clock_monotonic_ns();
    struct ntk_attach_counts counts;

    /* Read the sums first: later additions belong to the next pass. */
    ntk_attach_probes_counts(writer->probes, &counts);
    ntk_attach_probes_consume(writer->probes);
    ntk_hooks_behalf_at(0, 0, NULL);
    if (counts.events_lost != writer->counts.events_lost ||
        counts.uncounted != writer->counts.uncounted) {
        ntk_hooks_behalf_lost(counts.events_lost - writer->counts.events_lost + counts.uncounted -
                              writer->counts.uncounted);
        if (counts.events_lost != 0 && writer->counts.events_lost == 0) {
            ntk_log_warn(MODULE,
                         "the writer for process %d cannot keep up: counts are exact, but records "
                         "of individual calls are lost",
                         (int)writer->process->pid);
        }
        ntk_attach_models_end_lost(&writer->models, is_call_running, writer);
    }
    if (counts.exec_missed != writer->counts.exec_missed && writer->has_executions) {
        ntk_attach_probes_each_missed(writer->probes, take_missed, writer);
        ntk_attach_models_missed_end(&writer->models, now_ns - writer->looked_ns);
    }
    if (counts.memory_lost != writer->counts.memory_lost) {
        ntk_attach_tensors_begin(&writer->tensors);
        ntk_attach_probes_each_tensor(writer->probes, see_tensor, writer);
        ntk_attach_tensors_end(&writer->tensors, is_tensor_alive, writer);
    }
    if (counts.uncounted != writer->counts.uncounted && writer->counts.uncounted == 0) {
        ntk_log_warn(MODULE, "process %d: some calls were not counted", (int)writer->process->pid);
    }
    writer->counts = counts;
    writer->looked_ns = now_ns;
}

/* ---- calls that never return ---- */

struct tidying {
    const struct writer *writer;
    uint64_t now_ns;
};

static bool is_call_over(uint32_t tid, const struct ntk_attach_call *call, void *ctx)
{
    const struct tidying *tidying = ctx;
    const struct writer *writer = tidying->writer;

    return (call->kind == NTK_ATTACH_EXEC_END && !writer->has_executions) ||
           (call->start_ns + CHECK_NS < tidying->now_ns &&
            !ntk_attach_process_has_thread(writer->process->pid, tid));
}

/* Removes notes of calls that ended: a remaining note would hide other calls of its thread, or of a
 * later thread with the same tid. */
static void tidy(struct writer *writer)
{
    struct tidying tidying = { writer, ntk_clock_monotonic_ns() };

    writer->tidied_ns = tidying.now_ns;
    if (ntk_attach_probes_forget_calls(writer->probes, is_call_over, &tidying)) {
        ntk_hooks_behalf_at(0, 0, NULL);
        ntk_attach_models_end_lost(&writer->models, is_call_running, writer);
    }
}

/* ---- the cost ---- */

static void stop_executions(struct writer *writer, const char *why)
{
    if (!writer->has_executions) {
        return;
    }
    ntk_attach_probes_drop_executions(writer->probes);
    look(writer);
    writer->has_executions = false;
    ntk_attach_models_end_lost(&writer->models, NULL, NULL);
    tidy(writer);
    ntk_hooks_behalf_flag(NTK_PROCESS_NO_EXECUTIONS);
    ntk_log_warn(MODULE, "not observing executions of process %d: %s", (int)writer->process->pid,
                 why);
}

static void judge_cost(struct writer *writer, uint64_t now_ns)
{
    double execution_ns;
    char why[160];

    if (ntk_attach_judge_is_too_dear(&writer->judge, writer->counts.exec_count,
                                     writer->counts.exec_ns, now_ns, &execution_ns)) {
        (void)snprintf(
            why, sizeof why,
            "an execution takes %.1f us on average and observing it costs %.1f us, more than %g%% "
            "of that",
            execution_ns / 1e3, (double)writer->judge.cost_ns / 1e3, writer->judge.cost_max * 100);
        stop_executions(writer, why);
    }
}

/* ---- one process, from attaching to detaching ---- */

/* Opens the process's libraries; returns their number, or a negative value. */
static int add_libraries(struct writer *writer, struct ntk_err *err)
{
    const struct ntk_attach_process *process = writer->process;
    int added = 0;

    for (uint32_t i = 0; i < process->library_count; i++) {
        const struct ntk_attach_library *library = &process->libraries[i];
        struct stat status;
        enum ntk_attach_first first = NTK_ATTACH_FIRST_PUSH;
        int ret = 0;

        /* Accept only regular files, because opening a device or pipe may have side effects. */
        if (stat(library->link, &status) != 0) {
            ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot be opened: %s",
                              strerror(errno));
        } else if (!S_ISREG(status.st_mode)) {
            ret = ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "is not a regular file");
        }
        int fd = ret == 0 ? open(library->link, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
        if (ret == 0 && fd < 0) {
            ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot be opened: %s",
                              strerror(errno));
        }
        if (ret == 0 && ntk_attach_elf_has_hooks(fd)) {
            writer->process->has_own_segment = true;
        } else if (ret == 0) {
            ret = ntk_attach_probes_add(writer->probes, process->pid, fd,
                                        writer->options->cost_max > 0 && !process->is_async, &first,
                                        err);
            added += ret == 0;
            if (writer->options->cost_ns[first] > writer->judge.cost_ns) {
                writer->judge.cost_ns = writer->options->cost_ns[first];
            }
        }
        if (fd >= 0) {
            close(fd);
        }
        if (ret < 0) {
            ntk_err_prefix(err, "%s", library->path);
            if (ret == -EPERM) {
                return ret;
            }
        }
    }
    return added;
}

/* The version in a path, such as "2.31.24.0" in libnrt.so.2.31.24.0; "" if there is none. */
static const char *version_of(const char *path)
{
    const char *name = ntk_str_base_name(path);
    const char *at = strstr(name, ".so.");

    return at && strchr(at + 4, '.') ? at + 4 : "";
}

static int attach_hooks(const struct writer *writer, struct ntk_err *err)
{
    const struct ntk_attach_process *process = writer->process;
    struct ntk_hooks_behalf behalf = { .pid = (uint32_t)process->pid,
                                       .uid = process->uid,
                                       .start_time = process->start_time,
                                       .tag = process->tag,
                                       .command = process->command };
    struct ntk_hooks_config config = {
        .instance_type = process->instance_type,
        .runtime_version = version_of(process->libraries[0].path),
        .lnc = process->lnc,
        .device_count = process->device_count,
        .cores_per_device = process->cores_per_device,
        .process_flags = (uint32_t)NTK_PROCESS_ATTACHED |
                         (process->cores_guessed ? (uint32_t)NTK_PROCESS_CORES_GUESSED : 0u) |
                         (writer->has_executions ? 0u : (uint32_t)NTK_PROCESS_NO_EXECUTIONS),
        .behalf = &behalf,
    };
    char note[256] = "";
    int ret = ntk_hooks_attach(&config, note, sizeof note);

    if (ret == 0 && !ntk_hooks_counters_on()) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "NEURON_HOOKS=0 disables segments; unset it");
    }
    if (ret < 0) {
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "%s", note[0] ? note : strerror(-ret));
    }
    if (note[0]) {
        ntk_log_warn(MODULE, "%s", note);
    }
    return 0;
}

static void say(const struct ntk_attach_process *process, const char *what, const char *rest)
{
    char line[NTK_PATH_BYTES + 256];

    (void)snprintf(line, sizeof line, "%s %d (%s): %s", what, (int)process->pid, process->command,
                   rest);
    (void)ntk_str_clean(line, strlen(line));
    (void)printf("%s\n", line);
    (void)fflush(stdout);
}

/* Returns NULL if it is still the attached process, else the reason. */
static const char *look_again(struct writer *writer)
{
    struct ntk_attach_process now = *writer->process;

    if (ntk_attach_process_read_maps(&now) < 0) {
        return NULL; /* its exit is handled elsewhere */
    }
    if (now.has_own_segment && !writer->process->has_own_segment) {
        return "it has its own hooks now";
    }
    for (uint32_t i = 0; i < now.library_count; i++) {
        if (now.libraries[i].inode == writer->process->libraries[0].inode &&
            now.libraries[i].device == writer->process->libraries[0].device) {
            return NULL;
        }
    }
    return "it no longer uses the library";
}

/* Returns true if the process has executed another program. If a thread other than the first did,
 * the kernel has no probes in the new program. */
static bool executes_another(const struct writer *writer)
{
    uint64_t stack = ntk_attach_process_stack(writer->process->pid);

    return stack != 0 && stack != writer->process->stack;
}

/* Runs until the end; returns why it ended. */
static const char *work(struct writer *writer, int process_fd, int signals)
{
    struct pollfd ready[] = { { .fd = process_fd, .events = POLLIN },
                              { .fd = signals, .events = POLLIN },
                              { .fd = ntk_attach_probes_fd(writer->probes), .events = POLLIN } };

    for (;;) {
        (void)poll(ready, sizeof ready / sizeof *ready, LOOK_MS);
        if (ready[1].revents != 0) {
            return "on request";
        }
        look(writer);
        if (ready[0].revents != 0) {
            return "it exited";
        }
        uint64_t now_ns = writer->looked_ns;
        judge_cost(writer, now_ns);
        if (writer->is_async_seen) {
            stop_executions(writer,
                            "executions finish after their calls return (nrta_execute_schedule)");
        }
        if (now_ns - writer->tidied_ns >= CHECK_NS) {
            if (executes_another(writer)) {
                return "it is now running a different program";
            }
            tidy(writer);
        }
        if (writer->is_init_seen || now_ns - writer->looked_again_ns >= LOOK_AGAIN_NS) {
            writer->is_init_seen = false;
            writer->looked_again_ns = now_ns;
            const char *why = look_again(writer);
            if (why) {
                return why;
            }
        }
    }
}

static int catch_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static enum ntk_attach_end fail(const struct ntk_attach_process *process, const struct ntk_err *err)
{
    ntk_log_error(MODULE, "cannot attach to process %d (%s): %s", (int)process->pid,
                  process->command, err->text);
    return NTK_ATTACH_FAILED;
}

enum ntk_attach_end ntk_attach_writer_run(struct ntk_attach_process *process,
                                          const struct ntk_attach_options *options)
{
    struct writer writer = { .process = process,
                             .options = options,
                             .judge = { .cost_max = options->cost_max },
                             .has_executions = options->cost_max > 0 && !process->is_async };
    enum ntk_attach_end end = NTK_ATTACH_OVER;
    char rest[NTK_PATH_BYTES + 128];
    struct ntk_err err = { 0 };
    int signals = catch_signals();
    int process_fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    int libraries;

    ntk_attach_models_init(&writer.models);
    if (process_fd < 0 || ntk_attach_process_start_time(process->pid) != process->start_time) {
        (void)ntk_err_set(&err, -ESRCH, NTK_ERR_NO_OFFSET, "it exited");
        end = fail(process, &err);
        goto out;
    }
    if (process->has_own_segment) {
        end = NTK_ATTACH_HOOKED;
        goto out;
    }
    if (ntk_attach_probes_open(options->ring_bytes, take_event, &writer, &writer.probes, &err) <
        0) {
        end = fail(process, &err);
        goto out;
    }
    int ret = attach_hooks(&writer, &err);
    if (ret < 0) {
        end = ret == -EBUSY ? NTK_ATTACH_TAKEN : fail(process, &err);
        goto out;
    }
    libraries = add_libraries(&writer, &err);
    if (process->has_own_segment) {
        end = NTK_ATTACH_HOOKED;
        goto out;
    }
    if (libraries <= 0) {
        end = fail(process, &err);
        goto out;
    }
    (void)snprintf(rest, sizeof rest, "%.400s%s", process->libraries[0].path,
                   process->is_async
                       ? "; its executions finish after their calls return and are not observed"
                   : writer.has_executions ? ""
                                           : "; executions are not observed");
    say(process, "attached to", rest);
    writer.looked_ns = writer.judge.judged_ns = writer.looked_again_ns = ntk_clock_monotonic_ns();
    const char *why = work(&writer, process_fd, signals);
    ntk_attach_probes_drop(writer.probes);
    look(&writer);
    (void)snprintf(rest, sizeof rest, "%s; observed %llu execution calls%s", why,
                   (unsigned long long)writer.counts.exec_count,
                   writer.has_executions || writer.counts.exec_count == 0
                       ? ""
                       : ", then stopped observing them");
    say(process, "detached from", rest);

out:
    ntk_attach_probes_close(writer.probes);
    ntk_attach_models_fini(&writer.models);
    ntk_attach_tensors_fini(&writer.tensors);
    ntk_hooks_detach();
    if (process_fd >= 0) {
        close(process_fd);
    }
    close(signals);
    return end;
}
