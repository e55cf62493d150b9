/* SPDX-License-Identifier: MIT */
/*
 * The small parts of the core: the allocator of a stack, and handles that can be validated.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core_handle.h"
#include "runtime-hooks/core/core_heap.h"
#include "tests/support/unit.h"

/* Method: random takes and releases next to a map of the owner of each 64-byte unit. */
static void allocated_ranges_never_overlap_and_are_all_returned(void **state)
{
    enum { UNITS = 4096, BLOCKS = 200 };
    static unsigned char owned[UNITS];
    struct {
        uint64_t offset, bytes;
    } blocks[BLOCKS] = { 0 };
    struct ntk_core_heap heap;
    uint64_t offset = 0;
    unsigned seed = 1;

    assert_int_equal(ntk_core_heap_init(&heap, UNITS * 64), 0);
    for (int round = 0; round < 20000; round++) {
        size_t i = (size_t)rand_r(&seed) % BLOCKS;

        if (blocks[i].bytes > 0) {
            memset(owned + blocks[i].offset / 64, 0, (blocks[i].bytes + 63) / 64);
            ntk_core_heap_give_back(&heap, blocks[i].offset, blocks[i].bytes);
            blocks[i].bytes = 0;
            continue;
        }
        uint64_t bytes = 1 + (uint64_t)rand_r(&seed) % 3000;
        uint64_t align = UINT64_C(1) << (rand_r(&seed) % 13);
        if (ntk_core_heap_take(&heap, bytes, align, &offset) < 0) {
            continue;
        }
        assert_int_equal(offset % align, 0);
        assert_true(offset + bytes <= UNITS * 64);
        for (uint64_t unit = offset / 64; unit < (offset + bytes + 63) / 64; unit++) {
            assert_int_equal(owned[unit], 0);
            owned[unit] = 1;
        }
        blocks[i].offset = offset;
        blocks[i].bytes = bytes;
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        if (blocks[i].bytes > 0) {
            ntk_core_heap_give_back(&heap, blocks[i].offset, blocks[i].bytes);
        }
    }
    assert_int_equal(heap.free_ranges.count, 1);
    assert_int_equal(ntk_core_heap_take(&heap, UNITS * 64, 0, &offset), 0);
    assert_int_equal(ntk_core_heap_take(&heap, 1, 0, &offset), -ENOMEM);
    ntk_core_heap_fini(&heap);
}

struct object {
    struct ntk_core_handle handle;
    int value;
};

static _Atomic int destroyed;

static void destroy(struct ntk_core_handle *handle)
{
    ((struct object *)handle)->value = -1;
    atomic_fetch_add(&destroyed, 1);
}

static struct ntk_core_handle_pool pool = NTK_CORE_HANDLE_POOL_INIT(struct object, destroy);

static void only_handles_of_open_objects_are_accepted(void **state)
{
    struct object *objects[300];
    struct object local;

    atomic_store(&destroyed, 0);
    assert_null(ntk_core_handle_take(&pool, NULL));
    for (int i = 0; i < 300; i++) {
        objects[i] = ntk_core_handle_create(&pool);
        assert_non_null(objects[i]);
        objects[i]->value = i;
    }
    assert_null(ntk_core_handle_take(&pool, &local));
    assert_null(ntk_core_handle_take(&pool, (char *)objects[7] + 1));
    assert_ptr_equal(ntk_core_handle_take(&pool, objects[7]), objects[7]);
    assert_true(ntk_core_handle_close(&pool, objects[7]));
    assert_null(ntk_core_handle_take(&pool, objects[7]));
    assert_false(ntk_core_handle_close(&pool, objects[7]));
    assert_int_equal(atomic_load(&destroyed), 0); /* the taker still holds it */
    assert_int_equal(objects[7]->value, 7);
    ntk_core_handle_hold(objects[7]); /* its holder may hold it again, closed or not */
    ntk_core_handle_drop(&pool, objects[7]);
    assert_int_equal(atomic_load(&destroyed), 0);
    ntk_core_handle_drop(&pool, objects[7]);
    assert_int_equal(atomic_load(&destroyed), 1);
    ntk_core_handle_close_all(&pool);
    assert_int_equal(atomic_load(&destroyed), 300);
    assert_null(ntk_core_handle_take(&pool, objects[0]));
}

struct race {
    struct object *object;
    _Atomic int go;
    _Atomic int taken, closed;
};

static void *take_and_close(void *argument)
{
    struct race *race = argument;

    while (!atomic_load(&race->go)) {
    }
    struct object *object = ntk_core_handle_take(&pool, race->object);
    if (object) {
        if (object->value != 5) {
            abort();
        }
        atomic_fetch_add(&race->taken, 1);
        ntk_core_handle_drop(&pool, object);
    }
    if (ntk_core_handle_close_and_wait(&pool, race->object)) {
        atomic_fetch_add(&race->closed, 1);
    }
    return NULL;
}

static void an_object_closed_by_many_threads_is_freed_once(void **state)
{
    for (int round = 0; round < 200; round++) {
        struct race race = { .object = ntk_core_handle_create(&pool) };
        pthread_t threads[4];

        race.object->value = 5;
        atomic_store(&destroyed, 0);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, take_and_close, &race), 0);
        }
        atomic_store(&race.go, 1);
        for (size_t i = 0; i < 4; i++) {
            pthread_join(threads[i], NULL);
        }
        assert_int_equal(atomic_load(&race.closed), 1);
        assert_int_equal(atomic_load(&destroyed), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocated_ranges_never_overlap_and_are_all_returned),
        cmocka_unit_test(only_handles_of_open_objects_are_accepted),
        cmocka_unit_test(an_object_closed_by_many_threads_is_freed_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
