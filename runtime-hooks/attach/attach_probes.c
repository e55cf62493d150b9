/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/attach/attach_probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/attach/attach_elf.h"
#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/base/str.h"

/* The BPF program, embedded by the build. */
__asm__(".pushsection .rodata\n"
        ".balign 8\n"
        "ntk_attach_object_begin:\n"
        ".incbin \"" NTK_ATTACH_OBJECT "\"\n"
        "ntk_attach_object_end:\n"
        ".popsection\n");
extern const char ntk_attach_object_begin[];
extern const char ntk_attach_object_end[];

#define NO_PRIVILEGE \
    "attaching requires root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE: the kernel rejected"

/* The BPF programs for each export; NULL: none. */
static const struct {
    const char *name;
    const char *enter;
    const char *leave;
    bool is_execution;
} table[] = {
    { "nrt_init", NULL, "init_return", false },
    { "nrt_close", "close_enter", NULL, false },
    { "nrt_load", "load_enter", "load_return", false },
    { "nrt_load_collectives", "load_collectives_enter", "load_return", false },
    { "nrt_unload", "unload_enter", "unload_return", false },
    { "nrt_tensor_allocate", "allocate_enter", "allocate_return", false },
    { "nrt_tensor_allocate_slice", "slice_enter", "slice_return", false },
    { "nrt_tensor_attach_buffer", "attach_buffer_enter", "attach_buffer_return", false },
    { "nrt_tensor_free", "free_enter", NULL, false },
    { "nrt_execute", "execute_enter", "execute_return", true },
    { "nrt_execute_repeat", "execute_repeat_enter", "execute_return", true },
    { "nrta_execute_schedule", "execute_async_enter", NULL, true },
};
#define EXPORTS (sizeof table / sizeof *table)
#define LINKS_MAX (EXPORTS * 2 * NTK_ATTACH_PLACES * 4)

struct ntk_attach_probes {
    struct bpf_object *object;
    struct ring_buffer *ring;
    ntk_attach_event_fn fn;
    void *ctx;
    struct {
        struct bpf_link *link;
        bool is_execution;
    } links[LINKS_MAX];
    size_t link_count;
    int calls;
    int missed;
    int tensors;
    int counts;
};

/* The last message of libbpf, used in error messages. */
static char last_words[256];

__attribute__((format(printf, 2, 0))) static int listen_to(enum libbpf_print_level level,
                                                           const char *format, va_list arguments)
{
    char line[1024];

    (void)vsnprintf(line, sizeof line, format, arguments);
    line[strcspn(line, "\n")] = '\0';
    if (level == LIBBPF_WARN) {
        ntk_str_copy(last_words, sizeof last_words, line);
    }
    if (level != LIBBPF_DEBUG) {
        ntk_log_debug("attach", "%s", line);
    }
    return 0;
}

static int take_event(void *ctx, void *data, size_t bytes)
{
    struct ntk_attach_probes *probes = ctx;
    const struct ntk_attach_event *event = data;
    size_t wanted = bytes < sizeof *event            ? SIZE_MAX
                    : event->kind == NTK_ATTACH_LOAD ? sizeof(struct ntk_attach_load)
                    : event->kind == NTK_ATTACH_ALLOC || event->kind == NTK_ATTACH_SLICE
                        ? sizeof(struct ntk_attach_alloc)
                        : sizeof *event;

    if (bytes >= wanted) {
        probes->fn(event, bytes, probes->ctx);
    }
    return 0;
}

static int find_map(const struct ntk_attach_probes *probes, const char *name)
{
    return bpf_object__find_map_fd_by_name(probes->object, name);
}

int ntk_attach_probes_open(uint32_t ring_bytes, ntk_attach_event_fn fn, void *ctx,
                           struct ntk_attach_probes **out_probes, struct ntk_err *err)
{
    struct ntk_attach_probes *probes = calloc(1, sizeof *probes);
    LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "neuron_attach");
    int ret;

    if (!probes) {
        return ntk_err_no_memory(err);
    }
    last_words[0] = '\0';
    libbpf_set_print(listen_to);
    probes->fn = fn;
    probes->ctx = ctx;
    probes->object =
        bpf_object__open_mem(ntk_attach_object_begin,
                             (size_t)(ntk_attach_object_end - ntk_attach_object_begin), &options);
    if (!probes->object) {
        ret = -errno;
        goto out;
    }
    if (ring_bytes != 0) {
        bpf_map__set_max_entries(bpf_object__find_map_by_name(probes->object, "ring"), ring_bytes);
    }
    ret = bpf_object__load(probes->object);
    if (ret < 0) {
        goto out;
    }
    probes->calls = find_map(probes, "calls");
    probes->missed = find_map(probes, "missed");
    probes->tensors = find_map(probes, "tensors");
    probes->counts = find_map(probes, "counts");
    probes->ring = ring_buffer__new(find_map(probes, "ring"), take_event, probes, NULL);
    if (!probes->ring) {
        ret = -errno;
        goto out;
    }
    *out_probes = probes;
    return 0;

out:
    ntk_attach_probes_close(probes);
    if (ret == -EPERM || ret == -EACCES) {
        return ntk_err_set(err, -EPERM, NTK_ERR_NO_OFFSET, NO_PRIVILEGE " a BPF program");
    }
    return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET,
                       "the kernel rejected the BPF program that observes calls: %s%s%s",
                       strerror(-ret), last_words[0] ? "; " : "", last_words);
}

static void drop(struct ntk_attach_probes *probes, bool only_executions)
{
    for (size_t i = 0; i < probes->link_count; i++) {
        if (probes->links[i].link && (probes->links[i].is_execution || !only_executions)) {
            bpf_link__destroy(probes->links[i].link);
            probes->links[i].link = NULL;
        }
    }
}

void ntk_attach_probes_drop_executions(struct ntk_attach_probes *probes)
{
    drop(probes, true);
}

void ntk_attach_probes_drop(struct ntk_attach_probes *probes)
{
    drop(probes, false);
}

void ntk_attach_probes_close(struct ntk_attach_probes *probes)
{
    if (!probes) {
        return;
    }
    drop(probes, false);
    ring_buffer__free(probes->ring);
    bpf_object__close(probes->object);
    free(probes);
}

static int add_probe(struct ntk_attach_probes *probes, const char *program_name, bool is_return,
                     bool is_execution, pid_t pid, int fd, uint64_t offset, struct ntk_err *err)
{
    LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = is_return);
    char path[64];

    if (!program_name) {
        return 0;
    }
    if (probes->link_count == LINKS_MAX) {
        return ntk_err_set(err, -ENOSPC, NTK_ERR_NO_OFFSET, "too many functions to observe");
    }
    /* Refer to the opened file, because its path may mean another file inside the process. */
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct bpf_link *link = bpf_program__attach_uprobe_opts(
        bpf_object__find_program_by_name(probes->object, program_name), pid, path, offset,
        &options);
    if (!link) {
        int ret = -errno;
        if (ret == -EPERM || ret == -EACCES) {
            return ntk_err_set(err, -EPERM, NTK_ERR_NO_OFFSET, NO_PRIVILEGE " a probe");
        }
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "the kernel rejected a probe: %s",
                           strerror(-ret));
    }
    probes->links[probes->link_count].link = link;
    probes->links[probes->link_count++].is_execution = is_execution;
    return 0;
}

/* Sets the probe at the return before the one at the entry, so that a running call is seen
 * completely or not at all. */
static int add_export(struct ntk_attach_probes *probes, size_t at, pid_t pid, int fd,
                      uint64_t offset, struct ntk_err *err)
{
    int ret =
        add_probe(probes, table[at].leave, true, table[at].is_execution, pid, fd, offset, err);

    return ret < 0 ? ret
                   : add_probe(probes, table[at].enter, false, table[at].is_execution, pid, fd,
                               offset, err);
}

/* Moves the offset to the cheapest place for a probe. */
static enum ntk_attach_first first_of(int fd, uint64_t *offset)
{
    uint8_t bytes[8] = { 0 };
    uint32_t skip;

    (void)ntk_fs_pread(fd, bytes, sizeof bytes, *offset);
    enum ntk_attach_first first = ntk_attach_cost_first(bytes, &skip);
    *offset += skip;
    return first;
}

int ntk_attach_probes_add(struct ntk_attach_probes *probes, pid_t pid, int fd, bool with_executions,
                          enum ntk_attach_first *out_first, struct ntk_err *err)
{
    struct ntk_attach_export exports[EXPORTS];
    const char *names[EXPORTS];
    int ret;

    *out_first = NTK_ATTACH_FIRST_PUSH;
    for (size_t i = 0; i < EXPORTS; i++) {
        names[i] = table[i].name;
    }
    ret = ntk_attach_elf_find(fd, names, EXPORTS, exports, err);
    if (ret < 0) {
        return ret;
    }
    if (exports[0].count == 0) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "exports no nrt_init");
    }
    for (size_t i = 0; i < EXPORTS; i++) {
        if (table[i].is_execution && !with_executions) {
            continue;
        }
        for (size_t k = 0; k < exports[i].count && ret == 0; k++) {
            enum ntk_attach_first first = first_of(fd, &exports[i].offset[k]);
            if (table[i].is_execution && table[i].leave && first > *out_first) {
                *out_first = first;
            }
            ret = add_export(probes, i, pid, fd, exports[i].offset[k], err);
        }
    }
    return ret;
}

int ntk_attach_probes_add_trial(struct ntk_attach_probes *probes, int fd, uint64_t offset,
                                struct ntk_err *err)
{
    for (size_t i = 0; i < EXPORTS; i++) {
        if (strcmp(table[i].name, "nrt_execute") == 0) {
            return add_export(probes, i, getpid(), fd, offset, err);
        }
    }
    return -ENOENT;
}

int ntk_attach_probes_fd(const struct ntk_attach_probes *probes)
{
    return ring_buffer__epoll_fd(probes->ring);
}

void ntk_attach_probes_consume(struct ntk_attach_probes *probes)
{
    (void)ring_buffer__consume(probes->ring);
}

void ntk_attach_probes_counts(const struct ntk_attach_probes *probes,
                              struct ntk_attach_counts *out_counts)
{
    uint32_t zero = 0;

    memset(out_counts, 0, sizeof *out_counts);
    (void)bpf_map_lookup_elem(probes->counts, &zero, out_counts);
}

/* Number of restarts after which a walk over a quickly changing map stops. */
#define STEPS_MAX (1u << 18)

void ntk_attach_probes_each_missed(const struct ntk_attach_probes *probes,
                                   void (*fn)(const struct ntk_attach_missed_key *key,
                                              const struct ntk_attach_missed *missed, void *ctx),
                                   void *ctx)
{
    struct ntk_attach_missed_key key;
    struct ntk_attach_missed missed;
    const struct ntk_attach_missed_key *before = NULL;

    for (uint32_t i = 0; i < STEPS_MAX && bpf_map_get_next_key(probes->missed, before, &key) == 0;
         i++) {
        if (bpf_map_lookup_elem(probes->missed, &key, &missed) == 0) {
            fn(&key, &missed, ctx);
        }
        before = &key;
    }
}

void ntk_attach_probes_each_tensor(const struct ntk_attach_probes *probes,
                                   void (*fn)(uint64_t handle,
                                              const struct ntk_attach_tensor *tensor, void *ctx),
                                   void *ctx)
{
    struct ntk_attach_tensor tensor;
    uint64_t handle;
    uint64_t next;
    bool has_next = bpf_map_get_next_key(probes->tensors, NULL, &next) == 0;

    for (uint32_t i = 0; i < STEPS_MAX && has_next; i++) {
        handle = next;
        has_next = bpf_map_get_next_key(probes->tensors, &handle, &next) == 0;
        if (bpf_map_lookup_elem(probes->tensors, &handle, &tensor) == 0) {
            fn(handle, &tensor, ctx);
        }
    }
}

bool ntk_attach_probes_tensor(const struct ntk_attach_probes *probes, uint64_t handle,
                              struct ntk_attach_tensor *out_tensor)
{
    return bpf_map_lookup_elem(probes->tensors, &handle, out_tensor) == 0;
}

struct forgetting {
    const struct ntk_attach_probes *probes;
    uint64_t before_ns;
};

static void forget_older(uint64_t handle, const struct ntk_attach_tensor *tensor, void *ctx)
{
    const struct forgetting *forgetting = ctx;

    if (tensor->id <= forgetting->before_ns) {
        (void)bpf_map_delete_elem(forgetting->probes->tensors, &handle);
    }
}

void ntk_attach_probes_forget_tensors(const struct ntk_attach_probes *probes, uint64_t before_ns)
{
    struct forgetting forgetting = { probes, before_ns };

    ntk_attach_probes_each_tensor(probes, forget_older, &forgetting);
}

bool ntk_attach_probes_forget_calls(const struct ntk_attach_probes *probes,
                                    bool (*is_over)(uint32_t tid,
                                                    const struct ntk_attach_call *call, void *ctx),
                                    void *ctx)
{
    struct ntk_attach_call call;
    bool is_any = false;
    uint32_t next;
    bool has_next = bpf_map_get_next_key(probes->calls, NULL, &next) == 0;

    for (uint32_t i = 0; i < STEPS_MAX && has_next; i++) {
        uint32_t tid = next;
        has_next = bpf_map_get_next_key(probes->calls, &tid, &next) == 0;
        if (bpf_map_lookup_elem(probes->calls, &tid, &call) == 0 && is_over(tid, &call, ctx)) {
            is_any = bpf_map_delete_elem(probes->calls, &tid) == 0 || is_any;
        }
    }
    return is_any;
}

bool ntk_attach_probes_is_running(const struct ntk_attach_probes *probes, uint32_t tid,
                                  uint64_t start_ns)
{
    struct ntk_attach_call call;

    return bpf_map_lookup_elem(probes->calls, &tid, &call) == 0 && call.start_ns == start_ns;
}
