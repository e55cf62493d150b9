/* SPDX-License-Identifier: MIT */
/*
 * Random device trees, replayed to a collector under a clock of the test, against a model.
 *
 * Method: a seed makes a sequence of looks: leaves with faults, without faults, or unreadable; a
 * heartbeat that changes its pace and stops; trees that disappear, return, or are replaced. The
 * model applies the rules of docs/health.md to the record of all looks, without any state except
 * the heartbeat. After each look the reasons must be those of the model. At the end everything is
 * healthy again, and no reason ended sooner than the rules allow.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/collect/collect.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define SECOND NTK_NS_PER_SECOND
#define DEVICES "sys/devices/virtual/neuron_device"
#define LOOKS_MAX 700
#define SEEDS 14
#define HOLD (30 * SECOND)
#define LOST (3 * SECOND)
#define NEVER (300 * SECOND)

enum leaf { MEM, SRAM, COMPONENTS, LEVELS };
static const char *const leaf_paths[LEVELS] = {
    "stats/hardware/mem_ecc_uncorrected",
    "stats/hardware/sram_ecc_uncorrected",
    "stats/hardware/health_status/unhealthy_components",
};
static const char *const leaf_bad[LEVELS] = { "3", "1", "link_host" };
static const char *const leaf_good[LEVELS] = { "0", "0", "" };
static const enum ntk_health_reason leaf_reasons[LEVELS] = { NTK_HEALTH_REASON_HBM_UNCORRECTABLE,
                                                             NTK_HEALTH_REASON_SRAM_UNCORRECTABLE,
                                                             NTK_HEALTH_REASON_LINK_HOST };
#define HEART "stats/hardware/health_status/healthcheck_heartbeat"

enum state { GOOD, BAD, UNREADABLE };
struct record {
    uint64_t time_ns;
    unsigned int tree; /* which one; 0: none */
    enum state leaves[LEVELS];
    uint64_t heart;
};

struct fixture {
    char *folder;
    uint64_t seed;
    uint64_t now_ns;
    struct ntk_clock clock;
    unsigned int tree; /* the current one, or the last */
    bool is_away;
    enum state leaves[LEVELS];
    uint64_t heart, beaten_ns, pace_ns; /* 0: it does not change */
    struct record records[LOOKS_MAX];
    size_t count;
};

static uint64_t test_monotonic_ns(void *ctx)
{
    return ((struct fixture *)ctx)->now_ns;
}

static uint64_t test_realtime_ns(void *ctx)
{
    return 1700000000 * SECOND + ((struct fixture *)ctx)->now_ns;
}

static uint64_t random_below(struct fixture *f, uint64_t below)
{
    f->seed = f->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (f->seed >> 33) % below;
}

/* ---- the tree ---- */

static void put(const struct fixture *f, const char *name, const char *text)
{
    char path[1024];
    FILE *file;

    snprintf(path, sizeof path, "%s/" DEVICES "/neuron0/%s", f->folder, name);
    file = fopen(path, access(path, F_OK) == 0 ? "r+" : "w");
    if (!file) {
        char folder[1024];

        snprintf(folder, sizeof folder, "%s", path);
        *strrchr(folder, '/') = '\0';
        assert_int_equal(ntk_fs_make_folders(folder, 0700, NULL), 0);
        file = fopen(path, "w");
    }
    assert_non_null(file);
    fprintf(file, "%s\n", text);
    assert_int_equal(ftruncate(fileno(file), (off_t)strlen(text) + 1), 0);
    fclose(file);
}

static void put_level(struct fixture *f, enum leaf leaf, enum state state)
{
    f->leaves[leaf] = state;
    put(f, leaf_paths[leaf], state == BAD ? leaf_bad[leaf] : state == GOOD ? leaf_good[leaf] : "?");
}

static void put_heart(struct fixture *f, uint64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    put(f, HEART, text);
    f->heart = value;
    f->beaten_ns = f->now_ns;
}

/* Removed trees are kept, so that no new one gets the same identity. */
static void move(struct fixture *f, bool away)
{
    char there[1024];
    char aside[1024];

    snprintf(there, sizeof there, "%s/" DEVICES, f->folder);
    snprintf(aside, sizeof aside, "%s/aside-%u", f->folder, f->tree);
    assert_int_equal(away ? rename(there, aside) : rename(aside, there), 0);
    f->is_away = away;
}

static void build(struct fixture *f)
{
    f->tree++;
    f->is_away = false;
    put(f, "core_count", "2");
    put(f, "info/architecture/device_name", "Trainium2");
    put(f, "neuron_core0/info/architecture/arch_type", "NCv3");
    put(f, "neuron_core1/info/architecture/arch_type", "NCv3");
    for (int i = 0; i < LEVELS; i++) {
        put_level(f, (enum leaf)i, random_below(f, 8) == 0 ? BAD : GOOD);
    }
    put_heart(f, 1);
    f->pace_ns = SECOND;
}

/* ---- events between two reads ---- */

static void happen(struct fixture *f)
{
    static const uint64_t paces[] = { 1, 1, 1, 20, 60, 100, 0 };
    static const uint64_t waits[] = { 200, 200, 700, 1000, 1000, 2500, 9000 };
    uint64_t what = random_below(f, 60);

    f->now_ns += waits[random_below(f, 7)] * NTK_NS_PER_MS;
    if (what == 0) {
        if (!f->is_away) {
            move(f, true);
        }
        build(f);
    } else if (what == 1 && !f->is_away) {
        move(f, true);
    } else if (f->is_away && what < 30) {
        move(f, false);
    }
    if (f->is_away) {
        return;
    }
    if (what == 40) {
        f->pace_ns = paces[random_below(f, 7)] * SECOND;
    } else if (what > 40 && what < 52) {
        enum leaf leaf = (enum leaf)random_below(f, LEVELS);
        uint64_t kind = random_below(f, 8);

        /* Every text of components is readable. */
        put_level(f, leaf, kind < 5 ? GOOD : kind == 5 || leaf == COMPONENTS ? BAD : UNREADABLE);
    }
    if (f->pace_ns > 0 && f->now_ns - f->beaten_ns >= f->pace_ns) {
        put_heart(f, f->heart + 1);
    }
}

/* ---- the model ---- */

/* Reads of the tree in between remove a reason that has ended at `from`. */
static bool is_level_on(const struct fixture *f, size_t from, enum leaf leaf)
{
    bool is_on = false;
    uint64_t good_ns = 0;

    for (size_t i = from; i < f->count; i++) {
        const struct record *r = &f->records[i];

        if (r->tree == 0) {
            continue;
        }
        if (r->leaves[leaf] == BAD) {
            is_on = true;
        }
        if (r->leaves[leaf] != GOOD) {
            good_ns = 0;
        } else if (good_ns == 0) {
            good_ns = r->time_ns;
        }
        is_on = is_on && !(good_ns > 0 && r->time_ns - good_ns >= HOLD);
    }
    return is_on;
}

static bool is_leaf_lost(const struct fixture *f, size_t from, enum leaf leaf)
{
    bool was_read = false;
    bool is_lost = false;
    uint64_t missing_ns = 0;
    uint64_t found_ns = 0;

    for (size_t i = from; i < f->count; i++) {
        const struct record *r = &f->records[i];

        if (r->tree == 0) {
            continue;
        }
        if (r->leaves[leaf] == UNREADABLE) {
            missing_ns = was_read && missing_ns == 0 ? r->time_ns : missing_ns;
            found_ns = 0;
            is_lost = is_lost || (missing_ns > 0 && r->time_ns - missing_ns >= LOST);
        } else {
            was_read = true;
            missing_ns = 0;
            found_ns = found_ns == 0 ? r->time_ns : found_ns;
            is_lost = is_lost && r->time_ns - found_ns < HOLD;
        }
    }
    return is_lost;
}

static bool is_heart_still(const struct fixture *f, size_t from)
{
    uint64_t beats_ns[LOOKS_MAX]; /* since it stopped, or since the start */
    size_t beats = 0;
    uint64_t longest_ns = 0;
    uint64_t last_ns = 0;
    uint64_t value = 0;
    bool is_still = false;

    for (size_t i = from; i < f->count; i++) {
        const struct record *r = &f->records[i];
        uint64_t limit_ns = longest_ns * 5 > HOLD ? longest_ns * 5 : HOLD;

        if (r->tree == 0) {
            continue;
        }
        limit_ns = longest_ns == 0 || limit_ns > NEVER ? NEVER : limit_ns;
        if (last_ns == 0) {
            last_ns = r->time_ns;
        } else if (r->heart == value) {
            if (!is_still && r->time_ns - last_ns >= limit_ns) {
                is_still = true;
                beats = 0;
            } else if (is_still && r->time_ns - last_ns >= NEVER) {
                beats = 0;
            }
        } else {
            uint64_t between_ns = r->time_ns - last_ns;

            if (between_ns >= NEVER) {
                beats = 0;
            } else if (beats > 0 && between_ns > longest_ns) {
                longest_ns = between_ns;
            }
            beats_ns[beats++] = last_ns = r->time_ns;
            is_still = is_still && last_ns - beats_ns[0] < HOLD;
        }
        value = r->heart;
    }
    return is_still;
}

/* Returns the first look since which the tree is the same and was not away for long; also how long
 * it has been away now. */
static size_t find_begin(const struct fixture *f, uint64_t *out_away_ns)
{
    size_t begin = 0;
    uint64_t away_ns = 0; /* since when */
    unsigned int tree = 0;
    bool was_gone = false;

    *out_away_ns = 0;
    for (size_t i = 0; i < f->count; i++) {
        const struct record *r = &f->records[i];

        if (r->tree == 0) {
            away_ns = away_ns ? away_ns : r->time_ns;
            was_gone = was_gone || r->time_ns - away_ns >= LOST;
            *out_away_ns = r->time_ns - away_ns;
            continue;
        }
        if (r->tree != tree || was_gone) {
            begin = i;
        }
        tree = r->tree;
        was_gone = false;
        away_ns = *out_away_ns = 0;
    }
    return begin;
}

static uint64_t model(const struct fixture *f)
{
    uint64_t away_ns;
    size_t from = find_begin(f, &away_ns);
    uint64_t reasons = 0;

    for (int i = 0; i < LEVELS; i++) {
        if (is_level_on(f, from, (enum leaf)i)) {
            reasons |= UINT64_C(1) << leaf_reasons[i];
        }
    }
    if (away_ns >= LOST) {
        return reasons | UINT64_C(1) << NTK_HEALTH_REASON_TREE_GONE; /* nothing else is reported */
    }
    for (int i = 0; i < LEVELS; i++) {
        if (is_leaf_lost(f, from, (enum leaf)i)) {
            reasons |= UINT64_C(1) << NTK_HEALTH_REASON_SIGNAL_LOST;
        }
    }
    if (is_heart_still(f, from)) {
        reasons |= UINT64_C(1) << NTK_HEALTH_REASON_HEARTBEAT_STILL;
    }
    return reasons;
}

/* ---- scenarios ---- */

static uint64_t look(struct fixture *f, struct ntk_collector *collector, uint32_t *out_verdict)
{
    struct ntk_snapshot *snapshot = NULL;
    struct record *record = &f->records[f->count++];
    uint64_t reasons = 0;

    *record = (struct record){ .time_ns = f->now_ns,
                               .tree = f->is_away ? 0 : f->tree,
                               .heart = f->heart };
    memcpy(record->leaves, f->leaves, sizeof record->leaves);
    assert_int_equal(ntk_collector_poll(collector, &snapshot, NULL), 0);
    assert_int_equal(snapshot->device_count, 1);
    const struct ntk_device_sample *device = &snapshot->devices[0];
    assert_true(device->has & NTK_DEVICE_HAS_HEALTH);
    for (size_t i = 0; i < device->health_count; i++) {
        reasons |= UINT64_C(1) << device->health[i].reason;
    }
    *out_verdict = device->verdict;
    ntk_snapshot_destroy(snapshot);
    return reasons;
}

static uint32_t check(struct fixture *f, struct ntk_collector *collector, uint64_t seed)
{
    uint32_t verdict;
    uint64_t reasons = look(f, collector, &verdict);
    uint64_t expected = model(f);

    if (reasons != expected) {
        fail_msg("seed %llu, look %zu at %llu ms: reasons %llx, expected %llx",
                 (unsigned long long)seed, f->count - 1,
                 (unsigned long long)(f->now_ns / NTK_NS_PER_MS), (unsigned long long)reasons,
                 (unsigned long long)expected);
    }
    uint32_t worst = NTK_HEALTH_HEALTHY;
    for (int i = 0; i < NTK_HEALTH_REASON_COUNT; i++) {
        if (expected >> i & 1 && ntk_health_reasons[i].verdict > worst) {
            worst = ntk_health_reasons[i].verdict;
        }
    }
    assert_int_equal(verdict, worst);
    return verdict;
}

static void play(uint64_t seed, bool is_heart_only)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct ntk_collector *collector = NULL;
    char root[1024];
    char hooks[1024];
    size_t wild = LOOKS_MAX - 400;

    assert_non_null(f);
    f->folder = test_scratch_create();
    f->seed = seed;
    f->now_ns = 1000 * SECOND;
    f->clock = (struct ntk_clock){ .monotonic_ns = test_monotonic_ns,
                                   .realtime_ns = test_realtime_ns,
                                   .ctx = f };
    snprintf(root, sizeof root, "%s/sys", f->folder);
    snprintf(hooks, sizeof hooks, "%s/hooks", f->folder);
    const struct ntk_collector_options options = { .clock = &f->clock,
                                                   .sysfs_root = root,
                                                   .hooks_dir = hooks };
    build(f);
    assert_int_equal(ntk_collector_create(&options, &collector, NULL), 0);
    check(f, collector, seed);
    while (!is_heart_only && f->count < wild) {
        happen(f);
        check(f, collector, seed);
    }
    /* From now on everything is healthy, and the collector must report it after a while. */
    if (f->is_away) {
        move(f, false);
    }
    for (int i = 0; i < LEVELS; i++) {
        put_level(f, (enum leaf)i, GOOD);
    }
    f->pace_ns = is_heart_only ? (seed * 20 + 20) * SECOND : SECOND;
    for (size_t i = 0; i < 390; i++) {
        f->now_ns += SECOND;
        if (f->pace_ns > 0 && f->now_ns - f->beaten_ns >= f->pace_ns) {
            put_heart(f, f->heart + 1);
        }
        uint32_t verdict = check(f, collector, seed);

        /* Faults that the tree started with have ended, and a slow heartbeat is not reported as
         * new. */
        if (i > 380 || (is_heart_only && i > 40)) {
            assert_int_equal(verdict, NTK_HEALTH_HEALTHY);
        }
    }
    ntk_collector_destroy(collector);
    test_scratch_destroy(f->folder);
    free(f);
}

static void health_of_random_device_trees_follows_the_rules(void **state)
{
    (void)state;
    test_scratch_in_memory();
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(seed, false);
    }
}

/* A heartbeat every 20 s, 40 s and so on is not reported as new, even repeatedly. */
static void a_device_with_a_slow_heartbeat_is_healthy(void **state)
{
    (void)state;
    test_scratch_in_memory();
    for (uint64_t pace = 0; pace < 7; pace++) {
        play(pace, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(health_of_random_device_trees_follows_the_rules),
        cmocka_unit_test(a_device_with_a_slow_heartbeat_is_healthy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
