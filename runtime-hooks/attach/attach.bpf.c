/* SPDX-License-Identifier: MIT */
/*
 * attach.bpf - the BPF program that traces calls of the vendor's libnrt in an attached process.
 *
 * A probe at the entry of an export notes the call in `calls`, by thread; the one at its return
 * takes it from there and reports it. Calls of the library to itself, through its import table, are
 * inside a noted call and are skipped: the stack pointer distinguishes inner from outer calls. A
 * note with a stack pointer below the caller's belongs to a call that never returned (an exception,
 * a jump), and is replaced. The writer removes notes of threads that exited and of calls that are
 * no longer traced.
 *
 * No kernel type information is needed: registers come from struct pt_regs of the architecture,
 * which the C library's headers describe.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "runtime-hooks/attach/attach_events.h"

#define CALLS_MAX 4096
#define MISSED_MAX 16384
#define TENSORS_MAX 65536
#define SUB_BITS 6u /* the value of NTK_HISTOGRAM_SUB_BITS */
#define BUCKETS 2240u

/* The writer asserts that these two match segment_abi.h, which this file cannot include. */

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 20);
} ring SEC(".maps");

struct {
    /* Notes do not evict others: a call without a note is not counted. The writer removes the notes
     * of threads that exited. */
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, CALLS_MAX);
    __type(key, uint32_t);
    __type(value, struct ntk_attach_call);
} calls SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MISSED_MAX);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct ntk_attach_missed_key);
    __type(value, struct ntk_attach_missed);
} missed SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, TENSORS_MAX);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, uint64_t);
    __type(value, struct ntk_attach_tensor);
} tensors SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct ntk_attach_counts);
} counts SEC(".maps");

/* ---- registers ---- */

/* The stack pointer after the return from a call that was entered with `entered`. */
#if defined(__TARGET_ARCH_x86)
#define STACK_AFTER(entered) ((entered) + 8u) /* the return pops the return address */
#else
#define STACK_AFTER(entered) (entered)
#endif

static __always_inline uint64_t seventh_argument(struct pt_regs *regs)
{
    uint64_t value = 0;

#if defined(__TARGET_ARCH_x86)
    bpf_probe_read_user(&value, sizeof value, (void *)(PT_REGS_SP(regs) + 8));
#else
    value = ((const struct user_pt_regs *)regs)->regs[6];
#endif
    return value;
}

/* ---- counters and messages ---- */

static __always_inline struct ntk_attach_counts *counts_get(void)
{
    uint32_t zero = 0;

    return bpf_map_lookup_elem(&counts, &zero);
}

#define ADD(member, amount)                                      \
    do {                                                         \
        struct ntk_attach_counts *counts_now = counts_get();     \
        if (counts_now) {                                        \
            __sync_fetch_and_add(&counts_now->member, (amount)); \
        }                                                        \
    } while (0)

static __always_inline void fill(struct ntk_attach_event *event, uint32_t kind,
                                 const struct ntk_attach_call *call, int32_t status,
                                 uint64_t end_ns)
{
    event->start_ns = call->start_ns;
    event->end_ns = end_ns;
    event->kind = kind;
    event->tid = (uint32_t)bpf_get_current_pid_tgid();
    event->status = status;
    event->vnc = call->vnc;
    event->handle = call->handle;
    event->value = call->argument[0];
    bpf_get_current_comm(event->comm, sizeof event->comm);
}

/* The writer polls ten times per second, so it is woken only when the ring is nearly full, and for
 * urgent events. */
static __always_inline uint64_t wake_flags(uint32_t kind)
{
    uint64_t used = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
    uint64_t size = bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE);

    return kind == NTK_ATTACH_INIT || kind == NTK_ATTACH_ASYNC || used > size / 4
               ? BPF_RB_FORCE_WAKEUP
               : BPF_RB_NO_WAKEUP;
}

static __always_inline int tell(uint32_t kind, const struct ntk_attach_call *call, int32_t status,
                                uint64_t end_ns)
{
    struct ntk_attach_event *event = bpf_ringbuf_reserve(&ring, sizeof *event, 0);

    if (!event) {
        ADD(events_lost, 1);
        return 0;
    }
    fill(event, kind, call, status, end_ns);
    bpf_ringbuf_submit(event, wake_flags(kind));
    return 1;
}

/* ---- which calls count ---- */

static __always_inline int is_inside_another(const struct ntk_attach_call *outer, uint64_t stack,
                                             uint32_t function)
{
    /* If equal, the outer function jumped here instead of calling. */
    return outer->stack > stack || (outer->stack == stack && outer->function != function);
}

static __always_inline int enter(struct pt_regs *regs, struct ntk_attach_call *call)
{
    uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
    const struct ntk_attach_call *outer = bpf_map_lookup_elem(&calls, &tid);

    call->stack = PT_REGS_SP(regs);
    if (outer && is_inside_another(outer, call->stack, call->function)) {
        return 0;
    }
    call->start_ns = bpf_ktime_get_ns();
    if (bpf_map_update_elem(&calls, &tid, call, BPF_ANY) != 0) {
        ADD(uncounted, 1);
        return 0;
    }
    return 1;
}

/* Removes the returning call from the map; returns 0 for inner calls and for calls from before the
 * probes. */
static __always_inline int leave(struct pt_regs *regs, uint32_t kind, struct ntk_attach_call *out)
{
    uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
    const struct ntk_attach_call *call = bpf_map_lookup_elem(&calls, &tid);

    if (!call || call->kind != kind || STACK_AFTER(call->stack) != PT_REGS_SP(regs)) {
        return 0;
    }
    *out = *call;
    bpf_map_delete_elem(&calls, &tid);
    return 1;
}

/* Returns true if the thread is inside a noted call. */
static __always_inline int is_inner(struct pt_regs *regs)
{
    uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
    const struct ntk_attach_call *outer = bpf_map_lookup_elem(&calls, &tid);

    return outer && outer->stack > PT_REGS_SP(regs);
}

/* ---- init and close ---- */

SEC("uretprobe")
int init_return(struct pt_regs *regs)
{
    struct ntk_attach_call call = { .start_ns = bpf_ktime_get_ns(), .vnc = -1 };

    if ((int32_t)PT_REGS_RC(regs) == 0 && !tell(NTK_ATTACH_INIT, &call, 0, call.start_ns)) {
        ADD(other_lost, 1);
    }
    return 0;
}

SEC("uprobe")
int close_enter(struct pt_regs *regs)
{
    struct ntk_attach_call call = { .start_ns = bpf_ktime_get_ns(), .vnc = -1 };

    if (!is_inner(regs) && !tell(NTK_ATTACH_CLOSE, &call, 0, call.start_ns)) {
        ADD(other_lost, 1);
    }
    return 0;
}

/* ---- models ---- */

static __always_inline int load_begins(struct pt_regs *regs, uint64_t out_model)
{
    struct ntk_attach_call call = {
        .kind = NTK_ATTACH_LOAD,
        .vnc = (int32_t)PT_REGS_PARM3(regs),
        .handle = out_model,
        .argument = { PT_REGS_PARM2(regs), PT_REGS_PARM1(regs) },
    };

    enter(regs, &call);
    return 0;
}

SEC("uprobe")
int load_enter(struct pt_regs *regs)
{
    return load_begins(regs, PT_REGS_PARM5(regs));
}

SEC("uprobe")
int load_collectives_enter(struct pt_regs *regs)
{
    return load_begins(regs, seventh_argument(regs));
}

SEC("uretprobe")
int load_return(struct pt_regs *regs)
{
    uint64_t end_ns = bpf_ktime_get_ns();
    struct ntk_attach_load *load;
    struct ntk_attach_call call;
    uint64_t model = 0;

    if (!leave(regs, NTK_ATTACH_LOAD, &call)) {
        return 0;
    }
    bpf_probe_read_user(&model, sizeof model, (void *)call.handle);
    call.handle = model;
    load = bpf_ringbuf_reserve(&ring, sizeof *load, 0);
    if (!load) {
        ADD(events_lost, 1);
        ADD(other_lost, 1);
        return 0;
    }
    fill(&load->event, NTK_ATTACH_LOAD, &call, (int32_t)PT_REGS_RC(regs), end_ns);
    load->neff_address = call.argument[1];
    load->reserved = 0;
    load->has_neff =
        call.argument[0] >= sizeof load->neff &&
        bpf_probe_read_user(load->neff, sizeof load->neff, (void *)call.argument[1]) == 0;
    bpf_ringbuf_submit(load, BPF_RB_FORCE_WAKEUP); /* while the file of the NEFF is still mapped */
    return 0;
}

SEC("uprobe")
int unload_enter(struct pt_regs *regs)
{
    struct ntk_attach_call call = { .kind = NTK_ATTACH_UNLOAD,
                                    .vnc = -1,
                                    .handle = PT_REGS_PARM1(regs) };

    enter(regs, &call);
    return 0;
}

SEC("uretprobe")
int unload_return(struct pt_regs *regs)
{
    struct ntk_attach_call call;

    if (leave(regs, NTK_ATTACH_UNLOAD, &call) &&
        !tell(NTK_ATTACH_UNLOAD, &call, (int32_t)PT_REGS_RC(regs), bpf_ktime_get_ns())) {
        ADD(other_lost, 1);
    }
    return 0;
}

/* ---- executions ---- */

static __always_inline int execution_begins(struct pt_regs *regs, uint32_t function, int32_t runs)
{
    struct ntk_attach_call call = { .kind = NTK_ATTACH_EXEC_END,
                                    .function = function,
                                    .vnc = -1,
                                    .handle = PT_REGS_PARM1(regs),
                                    .argument = { runs > 0 ? (uint32_t)runs : 1 } };

    if (enter(regs, &call)) {
        tell(NTK_ATTACH_EXEC_BEGIN, &call, 0, 0);
    }
    return 0;
}

SEC("uprobe")
int execute_enter(struct pt_regs *regs)
{
    return execution_begins(regs, 1, 1);
}

SEC("uprobe")
int execute_repeat_enter(struct pt_regs *regs)
{
    return execution_begins(regs, 2, (int32_t)PT_REGS_PARM4(regs));
}

/* Same as ntk_histogram_bucket(), because BPF has no instruction for the highest bit. */
static __always_inline uint32_t bucket_of(uint64_t ns)
{
    uint64_t rest = ns;
    uint32_t top = 0;
    uint32_t bucket;

    if (ns < (1u << SUB_BITS)) {
        return (uint32_t)ns;
    }
#define HALVE(bits)            \
    if (rest >> (bits) != 0) { \
        rest >>= (bits);       \
        top += (bits);         \
    }
    HALVE(32)
    HALVE(16)
    HALVE(8)
    HALVE(4)
    HALVE(2)
    HALVE(1)
#undef HALVE
    bucket = ((top - (SUB_BITS - 1u)) << SUB_BITS) +
             (uint32_t)((ns >> (top - SUB_BITS)) & ((1u << SUB_BITS) - 1u));
    return bucket < BUCKETS ? bucket : BUCKETS - 1u;
}

static __always_inline void count_missed(const struct ntk_attach_call *call, int32_t status,
                                         uint64_t ns)
{
    uint32_t runs = status == 0 ? (uint32_t)call->argument[0] : 1;
    struct ntk_attach_missed_key key = { .handle = call->handle,
                                         .status = status,
                                         .bucket = bucket_of(runs > 1 ? ns / runs : ns) };
    struct ntk_attach_missed none = { 0 };
    struct ntk_attach_missed *entry = bpf_map_lookup_elem(&missed, &key);

    if (!entry) {
        bpf_map_update_elem(&missed, &key, &none, BPF_NOEXIST);
        entry = bpf_map_lookup_elem(&missed, &key);
    }
    if (!entry) {
        ADD(uncounted, 1);
        return;
    }
    __sync_fetch_and_add(&entry->sum_ns, ns);
    __sync_fetch_and_add(&entry->count, runs);
    ADD(exec_missed, 1);
}

SEC("uretprobe")
int execute_return(struct pt_regs *regs)
{
    uint64_t end_ns = bpf_ktime_get_ns();
    int32_t status = (int32_t)PT_REGS_RC(regs);
    struct ntk_attach_call call;

    if (!leave(regs, NTK_ATTACH_EXEC_END, &call)) {
        return 0;
    }
    ADD(exec_ns, end_ns - call.start_ns);
    ADD(exec_count, 1);
    if (!tell(NTK_ATTACH_EXEC_END, &call, status, end_ns)) {
        count_missed(&call, status, end_ns - call.start_ns);
    }
    return 0;
}

SEC("uprobe")
int execute_async_enter(struct pt_regs *regs)
{
    struct ntk_attach_call call = { .start_ns = bpf_ktime_get_ns(), .vnc = -1 };

    if (!is_inner(regs)) {
        tell(NTK_ATTACH_ASYNC, &call, 0, 0);
    }
    return 0;
}

/* ---- tensors ---- */

SEC("uprobe")
int allocate_enter(struct pt_regs *regs)
{
    struct ntk_attach_call call = {
        .kind = NTK_ATTACH_ALLOC,
        .vnc = (int32_t)PT_REGS_PARM2(regs),
        .handle = PT_REGS_PARM5(regs),
        .argument = { (uint32_t)PT_REGS_PARM1(regs), PT_REGS_PARM3(regs), PT_REGS_PARM4(regs) },
    };

    ADD(memory_hits, 1);
    enter(regs, &call);
    return 0;
}

static __always_inline void tell_tensor(uint32_t kind, const struct ntk_attach_call *call,
                                        uint64_t handle, const struct ntk_attach_tensor *tensor,
                                        uint64_t name)
{
    struct ntk_attach_alloc *alloc;

    if (bpf_map_update_elem(&tensors, &handle, tensor, BPF_ANY) != 0) {
        ADD(uncounted, 1);
        return;
    }
    alloc = bpf_ringbuf_reserve(&ring, sizeof *alloc, 0);
    if (!alloc) {
        ADD(events_lost, 1);
        ADD(memory_lost, 1);
        return;
    }
    fill(&alloc->event, kind, call, 0, tensor->id);
    alloc->event.handle = handle;
    alloc->event.value = tensor->id;
    alloc->tensor = *tensor;
    alloc->name[0] = '\0';
    if (name != 0) {
        bpf_probe_read_user_str(alloc->name, sizeof alloc->name, (void *)name);
    }
    bpf_ringbuf_submit(alloc, wake_flags(kind));
}

SEC("uretprobe")
int allocate_return(struct pt_regs *regs)
{
    struct ntk_attach_tensor tensor = { 0 };
    struct ntk_attach_call call;
    uint64_t handle = 0;

    if (!leave(regs, NTK_ATTACH_ALLOC, &call) || (int32_t)PT_REGS_RC(regs) != 0 ||
        bpf_probe_read_user(&handle, sizeof handle, (void *)call.handle) != 0) {
        return 0;
    }
    tensor.id = bpf_ktime_get_ns();
    tensor.storage = tensor.id;
    tensor.bytes = call.argument[1];
    tensor.placement = (uint32_t)call.argument[0];
    tensor.vnc = call.vnc;
    tell_tensor(NTK_ATTACH_ALLOC, &call, handle, &tensor, call.argument[2]);
    return 0;
}

SEC("uprobe")
int slice_enter(struct pt_regs *regs)
{
    struct ntk_attach_call call = {
        .kind = NTK_ATTACH_SLICE,
        .vnc = -1,
        .handle = PT_REGS_PARM5(regs),
        .argument = { PT_REGS_PARM1(regs) },
    };

    ADD(memory_hits, 1);
    enter(regs, &call);
    return 0;
}

SEC("uretprobe")
int slice_return(struct pt_regs *regs)
{
    const struct ntk_attach_tensor *source;
    struct ntk_attach_tensor tensor;
    struct ntk_attach_call call;
    uint64_t handle = 0;

    if (!leave(regs, NTK_ATTACH_SLICE, &call) || (int32_t)PT_REGS_RC(regs) != 0 ||
        bpf_probe_read_user(&handle, sizeof handle, (void *)call.handle) != 0) {
        return 0;
    }
    source = bpf_map_lookup_elem(&tensors, &call.argument[0]);
    if (!source) {
        return 0; /* the tensor is older than the probes */
    }
    tensor = *source;
    tensor.id = bpf_ktime_get_ns();
    tell_tensor(NTK_ATTACH_SLICE, &call, handle, &tensor, 0);
    return 0;
}

/* Frees the tensor's memory, unless a slice still uses it. */
static __always_inline void forget_tensor(uint64_t handle)
{
    struct ntk_attach_call call = { .start_ns = bpf_ktime_get_ns(), .vnc = -1, .handle = handle };
    const struct ntk_attach_tensor *tensor = bpf_map_lookup_elem(&tensors, &handle);

    if (!tensor) {
        return;
    }
    call.argument[0] = tensor->id;
    call.vnc = tensor->vnc;
    bpf_map_delete_elem(&tensors, &handle);
    if (!tell(NTK_ATTACH_FREE, &call, 0, call.start_ns)) {
        ADD(memory_lost, 1);
    }
}

SEC("uprobe")
int free_enter(struct pt_regs *regs)
{
    uint64_t handle = 0;

    ADD(memory_hits, 1);
    if (!is_inner(regs) &&
        bpf_probe_read_user(&handle, sizeof handle, (void *)PT_REGS_PARM1(regs)) == 0) {
        forget_tensor(handle);
    }
    return 0;
}

SEC("uprobe")
int attach_buffer_enter(struct pt_regs *regs)
{
    struct ntk_attach_call call = { .kind = NTK_ATTACH_FREE,
                                    .vnc = -1,
                                    .handle = PT_REGS_PARM1(regs) };

    ADD(memory_hits, 1);
    enter(regs, &call);
    return 0;
}

SEC("uretprobe")
int attach_buffer_return(struct pt_regs *regs)
{
    struct ntk_attach_call call;

    if (leave(regs, NTK_ATTACH_FREE, &call) && (int32_t)PT_REGS_RC(regs) == 0) {
        forget_tensor(call.handle);
    }
    return 0;
}

char license_name[] SEC("license") = "Dual MIT/GPL";
