/* SPDX-License-Identifier: MIT */
/* The reader on hand-made rings, including false ones. */
#include "shared/ring/ring_reader.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/unit.h"

#define CAPACITY 1024u

struct fixture {
    struct ntk_slot slots[CAPACITY];
    uint64_t head;
    struct ntk_ring_reader reader;
    struct ntk_slot out[NTK_RING_BATCH];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    ntk_ring_reader_init(&f->reader, f->slots, &f->head, CAPACITY, NTK_RING_FROM_OLDEST);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static void publish(struct fixture *f, uint64_t count)
{
    while (count-- > 0) {
        f->slots[f->head % CAPACITY].seq = f->head + 1;
        f->slots[f->head % CAPACITY].start_ticks = f->head;
        f->head++;
    }
}

static uint64_t read_all(struct fixture *f)
{
    uint64_t all = 0;
    int more = 1;

    while (more) {
        all += ntk_ring_reader_next(&f->reader, f->out, &more);
    }
    return all;
}

static void batches_are_in_order_and_report_remaining_records(void **state)
{
    struct fixture *f = *state;
    int more = 0;

    publish(f, 300);
    assert_int_equal(ntk_ring_reader_next(&f->reader, f->out, &more), 256);
    assert_int_equal(more, 1);
    assert_int_equal(f->out[255].start_ticks, 255);
    assert_int_equal(ntk_ring_reader_next(&f->reader, f->out, &more), 44);
    assert_int_equal(more, 0);
    assert_int_equal(f->out[0].start_ticks, 256);
    assert_int_equal(f->reader.lost, 0);
}

static void a_lapped_reader_resumes_half_a_ring_behind_the_writer(void **state)
{
    struct fixture *f = *state;

    publish(f, 5000);
    assert_int_equal(read_all(f), CAPACITY / 2);
    assert_int_equal(f->reader.lost, 5000 - CAPACITY / 2);
}

static void after_the_writer_exits_all_remaining_records_are_read(void **state)
{
    struct fixture *f = *state;

    f->reader.writer_gone = 1;
    publish(f, 5000);
    /* The next record's slot may be half overwritten. */
    assert_int_equal(read_all(f), CAPACITY - 1);
    assert_int_equal(f->reader.lost, 5000 - (CAPACITY - 1));
}

static void a_new_reader_counts_no_earlier_record_as_lost(void **state)
{
    struct fixture *f = *state;

    publish(f, 5000);
    ntk_ring_reader_init(&f->reader, f->slots, &f->head, CAPACITY, NTK_RING_FROM_NOW);
    publish(f, 3);
    assert_int_equal(read_all(f), 3);
    assert_int_equal(f->reader.lost, 0);
}

static void a_slot_with_a_wrong_sequence_number_counts_as_lost(void **state)
{
    struct fixture *f = *state;

    publish(f, 10);
    f->slots[4].seq = 0;
    f->slots[7].seq = 7;
    assert_int_equal(read_all(f), 8);
    assert_int_equal(f->reader.lost, 2);
    assert_int_equal(f->out[4].start_ticks, 5);
}

static void a_decreasing_head_yields_no_records(void **state)
{
    struct fixture *f = *state;

    publish(f, 10);
    assert_int_equal(read_all(f), 10);
    f->head = 3;
    assert_int_equal(read_all(f), 0);
    assert_int_equal(f->reader.position, 10);
}

static void a_head_position_near_the_maximum_yields_no_records(void **state)
{
    struct fixture *f = *state;

    f->head = UINT64_MAX;
    (void)ntk_ring_reader_next(&f->reader, f->out, NULL);
    f->head = 1;
    (void)ntk_ring_reader_next(&f->reader, f->out, NULL);
    f->reader.writer_gone = 1;
    f->head = UINT64_MAX - 1;
    (void)ntk_ring_reader_next(&f->reader, f->out, NULL);
    assert_int_equal(f->reader.read, 0);
}

/* ---- a writer that overtakes between the reader's two reads of head ---- */

static struct ntk_slot *far_slots; /* in a separate mapping */
static uint64_t far_head;

/* The reader touches the first slot: now the writer has advanced by more than a ring. The sequences
 * of the overwritten slots stay the old ones, as a reader just ahead of the writer may see them. */
static void overtake(int number)
{
    uint64_t index;

    (void)number;
    if (mprotect(far_slots, CAPACITY * sizeof *far_slots, PROT_READ | PROT_WRITE) != 0) {
        _exit(99);
    }
    for (index = CAPACITY; index <= CAPACITY + 40; index++) {
        far_slots[index % CAPACITY].start_ticks = index; /* the last slot is half written */
    }
    far_head = CAPACITY + 40;
}

static void records_overwritten_during_the_copy_are_lost_and_not_used(void **state)
{
    struct fixture *f = *state;
    struct sigaction action;
    struct sigaction earlier;
    size_t count;
    uint64_t i;

    far_slots = mmap(NULL, CAPACITY * sizeof *far_slots, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(far_slots, MAP_FAILED);
    for (i = 0; i < 100; i++) {
        far_slots[i].seq = i + 1;
        far_slots[i].start_ticks = i;
    }
    far_head = 100;
    memset(&action, 0, sizeof action);
    action.sa_handler = overtake;
    assert_int_equal(sigaction(SIGSEGV, &action, &earlier), 0);
    assert_int_equal(mprotect(far_slots, CAPACITY * sizeof *far_slots, PROT_NONE), 0);
    ntk_ring_reader_init(&f->reader, far_slots, &far_head, CAPACITY, NTK_RING_FROM_OLDEST);

    count = ntk_ring_reader_next(&f->reader, f->out, NULL);

    assert_int_equal(sigaction(SIGSEGV, &earlier, NULL), 0);
    assert_int_equal(far_head, CAPACITY + 40);
    assert_int_equal(count, 100 - 41); /* 0 to 39 are overwritten, and 40 may be */
    for (i = 0; i < count; i++) {
        assert_int_equal(f->out[i].start_ticks, 41 + i);
    }
    assert_int_equal(f->reader.lost, 41);
    munmap(far_slots, CAPACITY * sizeof *far_slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(batches_are_in_order_and_report_remaining_records, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_lapped_reader_resumes_half_a_ring_behind_the_writer,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(after_the_writer_exits_all_remaining_records_are_read,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_reader_counts_no_earlier_record_as_lost, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_slot_with_a_wrong_sequence_number_counts_as_lost, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(records_overwritten_during_the_copy_are_lost_and_not_used,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_decreasing_head_yields_no_records, setup, teardown),
        cmocka_unit_test_setup_teardown(a_head_position_near_the_maximum_yields_no_records, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
