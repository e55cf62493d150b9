/* SPDX-License-Identifier: MIT */
/*
 * threads - the ring of each thread: claimed at its first event, returned at its exit.
 */
#include "runtime-hooks/hooks/hooks_state.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/abi/raw_clock.h"

/* NULL: not requested yet. &no_ring: none is available. &claiming: the thread is in claim(), and
 * code that interrupts it has no ring. */
static __thread struct ntk_ring_writer *own_ring __attribute__((tls_model("initial-exec")));
static __thread uint32_t no_ring_attach __attribute__((tls_model("initial-exec")));
static struct ntk_ring_writer no_ring;
static struct ntk_ring_writer claiming;

static pthread_mutex_t claim_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t end_key;
static int end_key_made;

/* Takes a thread table entry; 0 if the table is full of living threads. name has 16 bytes. The
 * caller holds the mutex. */
static uint32_t take_thread_entry(uint64_t now, uint32_t tid, const void *name)
{
    struct ntk_segment_thread *entry;
    uint64_t oldest = UINT64_MAX;
    uint32_t index = 0;
    uint32_t i;

    if (hooks.threads_used < NTK_SEGMENT_THREADS) {
        index = hooks.threads_used++;
    } else {
        for (i = 1; i < NTK_SEGMENT_THREADS; i++) {
            entry = &hooks.segment.threads[i];
            if (ntk_abi_load(&entry->state) == NTK_THREAD_ENDED &&
                ntk_abi_load(&entry->first_ticks) < oldest) {
                oldest = entry->first_ticks;
                index = i;
            }
        }
    }
    if (index == 0) {
        ntk_abi_add_shared(&hooks.segment.header->threads_refused, 1);
        return 0;
    }
    entry = &hooks.segment.threads[index];
    /* Follows the sequence protocol of ntk_ring_segment_thread(). */
    ntk_abi_store(&entry->seq, entry->seq + 1);
    ntk_abi_fence_release();
    ntk_abi_store(&entry->first_ticks, now);
    ntk_abi_store(&entry->tid, tid);
    {
        uint64_t words[2];

        memcpy(words, name, sizeof words);
        ntk_abi_store((ntk_abi_word *)(void *)&entry->name[0], words[0]);
        ntk_abi_store((ntk_abi_word *)(void *)&entry->name[8], words[1]);
    }
    ntk_abi_store(&entry->state, (uint32_t)NTK_THREAD_ALIVE);
    ntk_abi_store_release(&entry->seq, entry->seq + 1);
    return index;
}

/* Takes a ring without an owner, or a new one. The caller holds the mutex. */
static struct ntk_ring_writer *take_ring(void)
{
    struct ntk_ring_writer *writer;
    struct ntk_segment_ring *ring;
    uint64_t offset;
    uint32_t i;

    for (i = 0; i < hooks.rings_used; i++) {
        /* Pairs with the release store in give_back(), so that the ring's last record is
         * visible. */
        if (__atomic_load_n(&hooks.writer[i].owner, __ATOMIC_ACQUIRE) == NULL) {
            __atomic_sub_fetch(&hooks.rings_free, 1, __ATOMIC_RELAXED);
            return &hooks.writer[i];
        }
    }
    if (hooks.rings_used == NTK_SEGMENT_RINGS) {
        return NULL;
    }
    while (hooks.ring_slots >= NTK_RING_SLOTS_MIN) {
        uint64_t bytes = hooks.ring_slots * NTK_SLOT_BYTES;

        offset = hooks.segment.slots_offset + hooks.slots_used * NTK_SLOT_BYTES;
        if (hooks.slots_used * NTK_SLOT_BYTES + bytes <= hooks.segment.slots_bytes &&
            hooks_segment_reserve(offset, bytes) == 0) {
            break;
        }
        hooks.ring_slots /= 2;
    }
    if (hooks.ring_slots < NTK_RING_SLOTS_MIN) {
        return NULL;
    }
    if (hooks.ring_slots < NTK_RING_SLOTS) {
        ntk_abi_add_shared(&hooks.segment.header->rings_shrunk, 1);
    }
    i = hooks.rings_used++;
    writer = &hooks.writer[i];
    ring = &hooks.segment.rings[i];
    offset = hooks.segment.slots_offset + hooks.slots_used * NTK_SLOT_BYTES;
    hooks.slots_used += hooks.ring_slots;
    ntk_ring_writer_init(writer, ring, (void *)(hooks.segment.base + offset), hooks.ring_slots);
    ring->offset = offset;
    ring->capacity = (uint32_t)hooks.ring_slots;
    /* Pairs with the acquire load in ring_segment_events.c. */
    ntk_abi_store_release(&ring->state, (uint32_t)NTK_RING_READY);
    return writer;
}

static uint32_t take_own_entry(void)
{
    uint64_t name[2] = { 0, 0 };

    if (hooks.is_behalf) {
        return 0; /* this thread does not belong to the process */
    }
    (void)prctl(PR_GET_NAME, name);
    return take_thread_entry(ntk_raw_clock_now(hooks.clock_kind), (uint32_t)syscall(SYS_gettid),
                             name);
}

static void claim(void)
{
    struct ntk_ring_writer *writer;
    int error = errno; /* error of the observed or interrupted call */

    own_ring = &claiming;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    pthread_mutex_lock(&claim_mutex);
    writer = (ntk_abi_load(&hooks_mask) & HOOKS_EVENTS) != 0 ? take_ring() : NULL;
    if (writer != NULL) {
        writer->thread = take_own_entry();
        ntk_abi_store(&writer->ring->thread, writer->thread);
        if (writer->thread != 0) {
            ntk_abi_store(&hooks.segment.threads[writer->thread].ring,
                          (uint32_t)(writer - hooks.writer));
        }
        ntk_abi_store(&writer->ring->claimed, 1u);
        __atomic_store_n(&writer->owner, &own_ring, __ATOMIC_RELAXED);
    } else {
        ntk_abi_add_shared(&hooks.segment.header->rings_refused, 1);
    }
    pthread_mutex_unlock(&claim_mutex);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (writer == NULL) {
        no_ring_attach = hooks.attach_count;
        own_ring = &no_ring;
    } else {
        own_ring = writer;
        (void)pthread_setspecific(end_key, writer);
    }
    errno = error;
}

/* Returns the ring when its thread exits. Destructors that record later claim a ring again. */
static void give_back(void *value)
{
    struct ntk_ring_writer *writer = value;

    if (own_ring == writer && writer->owner == (const void *)&own_ring) {
        if (ntk_abi_load(&hooks_mask) != 0) {
            if (writer->thread != 0) {
                ntk_abi_store_release(&hooks.segment.threads[writer->thread].state,
                                      (uint32_t)NTK_THREAD_ENDED);
            }
            ntk_abi_store(&writer->ring->claimed, 0u);
        }
        /* Pairs with the acquire load in take_ring(). */
        __atomic_store_n(&writer->owner, NULL, __ATOMIC_RELEASE);
        __atomic_add_fetch(&hooks.rings_free, 1, __ATOMIC_RELAXED);
    }
    own_ring = NULL;
}

struct ntk_ring_writer *hooks_ring(void)
{
    struct ntk_ring_writer *writer = own_ring;

    /* The owner check distinguishes the thread's own ring from that of an earlier segment or of the
     * parent. */
    if (__builtin_expect(writer != NULL && writer->owner == (const void *)&own_ring, 1)) {
        return writer;
    }
    if (writer != &claiming && (writer != &no_ring || no_ring_attach != hooks.attach_count ||
                                __atomic_load_n(&hooks.rings_free, __ATOMIC_RELAXED) != 0)) {
        claim();
        writer = own_ring;
        if (writer != &no_ring) {
            return writer;
        }
    }
    ntk_abi_add_shared(&hooks.segment.header->events_without_ring, 1);
    return NULL;
}

void hooks_ring_prefetch(void)
{
    const struct ntk_ring_writer *writer = own_ring;

    if (writer != NULL && writer->owner == (const void *)&own_ring) {
        __builtin_prefetch(&writer->slots[writer->head & writer->mask], 1);
        __builtin_prefetch(&writer->ring->head, 1);
    }
}

int hooks_threads_prepare(void)
{
    if (!end_key_made) {
        if (pthread_key_create(&end_key, give_back) != 0) {
            return 0;
        }
        end_key_made = 1;
    }
    return 1;
}

void hooks_threads_reset(void)
{
    uint64_t limit = hooks.segment.slots_bytes / NTK_SLOT_BYTES;
    uint32_t i;

    for (i = 0; i < NTK_SEGMENT_RINGS; i++) {
        __atomic_store_n(&hooks.writer[i].owner, NULL, __ATOMIC_RELAXED);
    }
    hooks.threads_used = 1; /* 0 stands for threads beyond the table */
    hooks.rings_used = 0;
    hooks.rings_free = 0;
    hooks.slots_used = 0;
    hooks.ring_slots = NTK_RING_SLOTS;
    /* If memory is short, several small rings are more useful than one large ring. */
    while (hooks.ring_slots > NTK_RING_SLOTS_MIN && hooks.ring_slots > limit / 4) {
        hooks.ring_slots /= 2;
    }
    own_ring = NULL;
}

void hooks_threads_after_fork(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    uint32_t i;

    memcpy(&claim_mutex, &fresh, sizeof fresh);
    for (i = 0; i < NTK_SEGMENT_RINGS; i++) {
        __atomic_store_n(&hooks.writer[i].owner, NULL, __ATOMIC_RELAXED);
    }
    own_ring = NULL;
}

uint32_t hooks_thread_entry(uint32_t tid, const char *name)
{
    struct ntk_segment_thread *threads = hooks.segment.threads;
    static uint64_t used[NTK_SEGMENT_THREADS]; /* time of the last request for each entry */
    static uint64_t turn;
    uint32_t oldest = 0;
    uint32_t i;

    turn++;
    for (i = 1; i < hooks.threads_used; i++) {
        if (threads[i].tid == tid && threads[i].state == NTK_THREAD_ALIVE &&
            strncmp(threads[i].name, name, sizeof threads[i].name) == 0) {
            used[i] = turn;
            return i;
        }
        oldest = oldest == 0 || used[i] < used[oldest] ? i : oldest;
    }
    if (hooks.threads_used == NTK_SEGMENT_THREADS) {
        /* Thread exits are not reported, so the least recently used entry is replaced. */
        ntk_abi_store_release(&threads[oldest].state, (uint32_t)NTK_THREAD_ENDED);
        ntk_abi_store(&threads[oldest].first_ticks, 0);
    }
    i = take_thread_entry(hooks.given_ns, tid, name);
    used[i] = turn;
    return i;
}

/* Called before the library is unloaded, so that no thread calls give_back() in unmapped code. */
__attribute__((destructor)) static void forget_key(void)
{
    if (end_key_made) {
        (void)pthread_key_delete(end_key);
        end_key_made = 0;
    }
}
