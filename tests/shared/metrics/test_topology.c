/* SPDX-License-Identifier: MIT */
/* Shapes from lists of neighbours, including wrong lists. */
#include "shared/metrics/topology.h"
#include "tests/support/unit.h"

#define MANY 80

struct fixture {
    struct ntk_topology_device devices[MANY];
    uint8_t neighbours[MANY][4];
};

/* A ring of count devices, or a chain if it is not closed. */
static void make_line(struct fixture *f, size_t count, bool is_closed)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t *next = f->neighbours[i];

        if (i > 0 || is_closed) {
            *next++ = (uint8_t)((i + count - 1) % count);
        }
        if (i + 1 < count || is_closed) {
            *next++ = (uint8_t)((i + 1) % count);
        }
        f->devices[i] =
            (struct ntk_topology_device){ (uint32_t)i, true, (uint32_t)(next - f->neighbours[i]),
                                          f->neighbours[i] };
    }
}

static void chain_ring_and_switch_topologies_are_distinguished(void **state)
{
    struct fixture f = { 0 };

    make_line(&f, 6, false);
    assert_int_equal(ntk_topology_find(f.devices, 6), NTK_TOPOLOGY_CHAIN);
    assert_int_equal(ntk_topology_find(f.devices, 1), NTK_TOPOLOGY_NONE);
    assert_int_equal(ntk_topology_find(f.devices, 0), NTK_TOPOLOGY_NONE);
    make_line(&f, 6, true);
    assert_int_equal(ntk_topology_find(f.devices, 6), NTK_TOPOLOGY_RING);
    for (size_t i = 0; i < 6; i++) {
        f.devices[i].neighbour_count = 0;
    }
    assert_int_equal(ntk_topology_find(f.devices, 6), NTK_TOPOLOGY_SWITCH);
    f.devices[2].has_neighbours = false;
    assert_int_equal(ntk_topology_find(f.devices, 6), NTK_TOPOLOGY_OTHER);
}

static void inconsistent_links_have_no_named_topology(void **state)
{
    struct fixture f = { 0 };

    make_line(&f, 6, false);
    f.neighbours[0][0] = 255;
    assert_int_equal(ntk_topology_find(f.devices, 6), NTK_TOPOLOGY_OTHER);
    make_line(&f, 6, false);
    f.devices[3].index = 9;
    assert_int_equal(ntk_topology_find(f.devices, 6), NTK_TOPOLOGY_OTHER);
    make_line(&f, 64, true);
    assert_int_equal(ntk_topology_find(f.devices, 64), NTK_TOPOLOGY_RING);
    make_line(&f, MANY, true);
    assert_int_equal(ntk_topology_find(f.devices, MANY), NTK_TOPOLOGY_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_ring_and_switch_topologies_are_distinguished),
        cmocka_unit_test(inconsistent_links_have_no_named_topology),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
