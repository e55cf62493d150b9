/* SPDX-License-Identifier: MIT */
/* Writer and reader of one ring in plain memory: the protocol without files and processes. */
#include "runtime-hooks/ring/ring_writer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shared/ring/ring_reader.h"
#include "tests/support/unit.h"

struct ring {
    struct ntk_segment_ring directory;
    struct ntk_slot *slots;
    uint64_t capacity;
    struct ntk_ring_writer writer;
};

static void ring_init(struct ring *ring, uint64_t capacity, uint64_t head)
{
    memset(ring, 0, sizeof *ring);
    ring->capacity = capacity;
    ring->slots = aligned_alloc(64, capacity * sizeof *ring->slots);
    assert_non_null(ring->slots);
    memset(ring->slots, 0, capacity * sizeof *ring->slots);
    ring->directory.head = head;
    ntk_ring_writer_init(&ring->writer, &ring->directory, ring->slots, capacity);
}

static void put(struct ntk_ring_writer *writer, uint64_t value)
{
    if (ntk_ring_writer_enter(writer)) {
        ntk_ring_writer_put(writer, value, NTK_SLOT_META(NTK_EVENT_MARK, 1, 2, 3), value ^ 1,
                            value ^ 2, value ^ 3, value ^ 4, value ^ 5);
        ntk_ring_writer_leave(writer);
    }
}

static int is_whole(const struct ntk_slot *slot)
{
    uint64_t value = slot->start_ticks;

    return slot->kind == NTK_EVENT_MARK && slot->flags == 1 && slot->core == 2 &&
           slot->thread == 3 && slot->word[0] == (value ^ 1) && slot->word[1] == (value ^ 2) &&
           slot->word[2] == (value ^ 3) && slot->word[3] == (value ^ 4) &&
           slot->word[4] == (value ^ 5);
}

static void a_written_record_is_read_unchanged(void **state)
{
    struct ntk_slot slots[NTK_RING_BATCH];
    struct ntk_ring_reader reader;
    struct ring ring;

    ring_init(&ring, 16, 0);
    ntk_ring_reader_init(&reader, ring.slots, &ring.directory.head, 16, NTK_RING_FROM_OLDEST);

    put(&ring.writer, 4711);

    assert_int_equal(ntk_ring_reader_next(&reader, slots, NULL), 1);
    assert_true(is_whole(&slots[0]));
    assert_int_equal(slots[0].start_ticks, 4711);
    assert_int_equal(slots[0].seq, 1);
    assert_int_equal(ntk_ring_reader_next(&reader, slots, NULL), 0);
    free(ring.slots);
}

static void a_reused_ring_continues_its_sequence_numbers(void **state)
{
    struct ring ring;

    ring_init(&ring, 16, 40);
    put(&ring.writer, 1);
    assert_int_equal(ring.directory.head, 41);
    assert_int_equal(ring.slots[40 % 16].seq, 41);
    free(ring.slots);
}

static void a_nested_record_is_dropped_and_counted(void **state)
{
    struct ring ring;

    ring_init(&ring, 16, 0);
    assert_int_equal(ntk_ring_writer_enter(&ring.writer), 1);
    put(&ring.writer, 1); /* what a signal handler would do here */
    put(&ring.writer, 2);
    ntk_ring_writer_leave(&ring.writer);
    put(&ring.writer, 3);

    assert_int_equal(ring.directory.head, 1);
    assert_int_equal(ring.directory.dropped, 2);
    assert_int_equal(ring.slots[0].start_ticks, 3);
    free(ring.slots);
}

#define RACE_SLOTS 16
#ifdef NTK_ABI_NO_FENCES /* the thread sanitizer checks accesses, and needs no luck */
#define RACE_ENOUGH 5000u
#define RACE_RECORDS_MAX 300000u
#else
/* Records that each reader has got while the writer was writing. */
#define RACE_ENOUGH 100000u
#define RACE_RECORDS_MAX 10000000u /* the maximum that the writer writes on a busy machine */
#endif

struct race_reader {
    struct ring *ring;
    const int *writer_ended;
    uint64_t torn;
    uint64_t out_of_order;
    uint64_t got; /* atomic */
    struct ntk_ring_reader reader;
};

struct race {
    struct ring ring;
    struct race_reader readers[2];
    int writer_ended; /* atomic */
};

static void *write_all(void *ctx)
{
    struct race *race = ctx;
    uint64_t i;

    for (i = 0; i < RACE_RECORDS_MAX; i++) {
        put(&race->ring.writer, i);
        if (i % 1024 == 0 && ntk_abi_load(&race->readers[0].got) >= RACE_ENOUGH &&
            ntk_abi_load(&race->readers[1].got) >= RACE_ENOUGH) {
            break;
        }
    }
    __atomic_store_n(&race->writer_ended, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void *read_all(void *ctx)
{
    struct race_reader *race = ctx;
    struct ntk_slot slots[NTK_RING_BATCH];
    uint64_t last_seq = 0;

    for (;;) {
        int ended = __atomic_load_n(race->writer_ended, __ATOMIC_ACQUIRE);
        size_t count = ntk_ring_reader_next(&race->reader, slots, NULL);
        size_t i;

        for (i = 0; i < count; i++) {
            race->torn += !is_whole(&slots[i]) || slots[i].start_ticks + 1 != slots[i].seq;
            race->out_of_order += slots[i].seq <= last_seq;
            last_seq = slots[i].seq;
        }
        ntk_abi_store(&race->got, race->reader.read);
        if (ended && race->reader.position == ntk_abi_load(&race->ring->directory.head)) {
            return NULL;
        }
    }
}

/* Method: a ring far too small for its readers, so that the writer overtakes them all the time. */
static void readers_of_a_racing_writer_count_every_missed_record(void **state)
{
    static struct race race;
    pthread_t readers[2];
    pthread_t writer;
    int i;

    ring_init(&race.ring, RACE_SLOTS, 0);
    for (i = 0; i < 2; i++) {
        race.readers[i].ring = &race.ring;
        race.readers[i].writer_ended = &race.writer_ended;
        ntk_ring_reader_init(&race.readers[i].reader, race.ring.slots, &race.ring.directory.head,
                             RACE_SLOTS, NTK_RING_FROM_OLDEST);
        /* The second reader reads the oldest records, which the writer is about to overwrite. */
        race.readers[i].reader.writer_gone = i;
        assert_int_equal(pthread_create(&readers[i], NULL, read_all, &race.readers[i]), 0);
    }
    assert_int_equal(pthread_create(&writer, NULL, write_all, &race), 0);
    pthread_join(writer, NULL);
    for (i = 0; i < 2; i++) {
        pthread_join(readers[i], NULL);
        assert_int_equal(race.readers[i].torn, 0);
        assert_int_equal(race.readers[i].out_of_order, 0);
        assert_int_equal(race.readers[i].reader.read + race.readers[i].reader.lost,
                         race.ring.directory.head);
        assert_true(race.readers[i].reader.read > 0);
    }
    free(race.ring.slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_written_record_is_read_unchanged),
        cmocka_unit_test(a_reused_ring_continues_its_sequence_numbers),
        cmocka_unit_test(a_nested_record_is_dropped_and_counted),
        cmocka_unit_test(readers_of_a_racing_writer_count_every_missed_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
