/* SPDX-License-Identifier: MIT */
/*
 * The health of devices: trees that are played back to a collector under a clock of the test.
 *
 * Method of the plays: a tree of one device with two cores in a scratch folder. Each step of a play
 * waits, during which the collector looks every fifth of a second, changes leaves, looks again and
 * compares the verdict and its reasons.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/collect/collect.h"
#include "shared/collect/health.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define SECOND NTK_NS_PER_SECOND
#define DEVICES "sys/devices/virtual/neuron_device"
#define BEGIN_NS (100 * SECOND)
#define EPOCH_NS (1700000000 * SECOND)

struct fixture {
    char *folder;
    uint64_t now_ns;
    struct ntk_clock clock;
    struct ntk_collector *collector;
    bool beats;         /* whether the driver sends a heartbeat every second */
    uint64_t heartbeat; /* its leaf; 0: none */
    uint64_t beaten_ns;
    unsigned int trees;
    unsigned int device_count; /* all except the first have only cores */
};

static uint64_t test_monotonic_ns(void *ctx)
{
    return ((struct fixture *)ctx)->now_ns;
}

static uint64_t test_realtime_ns(void *ctx)
{
    return EPOCH_NS + ((struct fixture *)ctx)->now_ns;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f) {
        return -1;
    }
    test_scratch_in_memory();
    f->folder = test_scratch_create();
    f->now_ns = BEGIN_NS;
    f->device_count = 1;
    f->clock = (struct ntk_clock){ .monotonic_ns = test_monotonic_ns,
                                   .realtime_ns = test_realtime_ns,
                                   .ctx = f };
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_collector_destroy(f->collector);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

/* ---- the tree ---- */

static void leaf_path(const struct fixture *f, const char *name, char *path, size_t bytes)
{
    snprintf(path, bytes, "%s/" DEVICES "/neuron0/%s", f->folder, name);
}

/* Writes a value in place, as drivers and the software machine do; NULL removes the file. */
static void put(const struct fixture *f, const char *name, const char *text)
{
    char path[1024];
    char folder[1024];
    FILE *file;

    leaf_path(f, name, path, sizeof path);
    if (!text) {
        unlink(path);
        return;
    }
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(ntk_fs_make_folders(folder, 0700, NULL), 0);
    file = fopen(path, access(path, F_OK) == 0 ? "r+" : "w");
    assert_non_null(file);
    fprintf(file, "%s\n", text);
    assert_int_equal(ftruncate(fileno(file), (off_t)strlen(text) + 1), 0);
    fclose(file);
}

static const struct leaf_name {
    const char *key;
    const char *path;
} leaves[] = {
    { "mem", "stats/hardware/mem_ecc_uncorrected" },
    { "repairable", "stats/hardware/mem_ecc_repairable_uncorrected" },
    { "sram", "stats/hardware/sram_ecc_uncorrected" },
    { "components", "stats/hardware/health_status/unhealthy_components" },
    { "heartbeat", "stats/hardware/health_status/healthcheck_heartbeat" },
    { "dma", "neuron_core1/stats/status/hw_dma_abort_error/total" },
    { "collectives", "neuron_core1/stats/status/hw_collectives_error/total" },
    { "hbm_status", "neuron_core0/stats/status/hw_hbm_ue_error/total" },
    { "overflow", "neuron_core0/stats/status/execute_sw_nq_overflow/total" },
    { "success", "neuron_core1/stats/status/success/total" },
    { "resets", "neuron_core1/stats/other_info/reset_req_count/total" },
};

static const char *path_of_key(const char *key)
{
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        if (strcmp(leaves[i].key, key) == 0) {
            return leaves[i].path;
        }
    }
    fail_msg("no leaf %s", key);
    return NULL;
}

static void tree_remove(struct fixture *f)
{
    char path[1024];
    char away[1024];

    /* Removes it at once, as an unloading driver does; open files are gone too. */
    snprintf(path, sizeof path, "%s/" DEVICES, f->folder);
    snprintf(away, sizeof away, "%s/gone-%u", f->folder, f->trees);
    assert_int_equal(rename(path, away), 0);
    assert_int_equal(ntk_fs_remove_tree(away, NULL), 0);
    f->heartbeat = 0;
}

/* As if the driver had been loaded long ago. A collector walks a tree again at each look while its
 * folder is younger than two seconds of the real clock. A leaf that is missing in the last of these
 * walks is unknown to it. */
static void age_tree(const struct fixture *f)
{
    const struct timespec loaded = { .tv_sec = 1000000000 + f->trees };
    char path[1024];

    snprintf(path, sizeof path, "%s/" DEVICES, f->folder);
    assert_int_equal(utimensat(AT_FDCWD, path, (const struct timespec[]){ loaded, loaded }, 0), 0);
}

/* A newly loaded driver: "old" has only counters of memory errors, "inf1" only statuses, "bare"
 * nothing. */
static void tree_build(struct fixture *f, const char *kind)
{
    bool has_hardware = strcmp(kind, "inf1") != 0 && strcmp(kind, "bare") != 0;
    bool has_status = strcmp(kind, "bare") != 0 && strcmp(kind, "old") != 0;

    f->trees++;
    put(f, "core_count", "2");
    put(f, "info/architecture/device_name", "Trainium2");
    put(f, "neuron_core0/info/architecture/arch_type", "NCv3");
    put(f, "neuron_core1/info/architecture/arch_type", "NCv3");
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        bool is_core = leaves[i].path[0] == 'n';
        bool is_health = strstr(leaves[i].path, "health_status") != NULL;

        if ((is_core && has_status) || (!is_core && has_hardware && !is_health)) {
            put(f, leaves[i].path, "0");
        } else if (is_health && strcmp(kind, "new") == 0) {
            put(f, leaves[i].path, strcmp(leaves[i].key, "heartbeat") == 0 ? "1" : "");
        }
    }
    f->heartbeat = strcmp(kind, "new") == 0 ? 1 : 0;
    f->beats = true;
    age_tree(f);
}

static void collector_open_checking(struct fixture *f, uint64_t health_ns, uint64_t many_cores_ns)
{
    char root[1024];
    char hooks[1024];
    struct ntk_collector_options options = { .clock = &f->clock,
                                             .sysfs_root = root,
                                             .hooks_dir = hooks,
                                             .health_ns = health_ns,
                                             .many_cores_ns = many_cores_ns };
    struct ntk_err err = { 0 };

    snprintf(root, sizeof root, "%s/sys", f->folder);
    snprintf(hooks, sizeof hooks, "%s/hooks", f->folder);
    if (ntk_collector_create(&options, &f->collector, &err) < 0) {
        fail_msg("%s", err.text);
    }
}

static void collector_open(struct fixture *f)
{
    collector_open_checking(f, 0, 0);
}

static void look(struct fixture *f)
{
    char text[32];

    if (f->heartbeat && f->beats && f->now_ns - f->beaten_ns >= SECOND) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)++f->heartbeat);
        put(f, path_of_key("heartbeat"), text);
        f->beaten_ns = f->now_ns;
    }
    assert_true(ntk_collector_drain(f->collector) >= 0);
}

static void wait_for(struct fixture *f, double seconds)
{
    uint64_t until_ns = f->now_ns + (uint64_t)(seconds * SECOND);

    while (f->now_ns < until_ns) {
        f->now_ns += SECOND / 5;
        look(f);
    }
}

/* ---- scenarios ---- */

/* "unhealthy: hbm_uncorrectable, heartbeat_still", of the only device. */
static void verdict_text(struct fixture *f, char *text, size_t bytes)
{
    struct ntk_snapshot *snapshot = NULL;
    struct ntk_err err = { 0 };
    int used;

    if (ntk_collector_poll(f->collector, &snapshot, &err) < 0) {
        fail_msg("%s", err.text);
    }
    if (snapshot->device_count == 0) {
        snprintf(text, bytes, "no device");
        ntk_snapshot_destroy(snapshot);
        return;
    }
    assert_int_equal(snapshot->device_count, f->device_count);
    const struct ntk_device_sample *device = &snapshot->devices[0];
    if (!(device->has & NTK_DEVICE_HAS_HEALTH)) {
        snprintf(text, bytes, "no verdict");
        ntk_snapshot_destroy(snapshot);
        return;
    }
    used = snprintf(text, bytes, "%s", ntk_health_verdict_names[device->verdict]);
    for (size_t i = 0; i < device->health_count; i++) {
        used += snprintf(text + used, bytes - (size_t)used, "%s %s", i > 0 ? "," : ":",
                         ntk_health_reasons[device->health[i].reason].name);
    }
    ntk_snapshot_destroy(snapshot);
}

struct step {
    double seconds; /* to wait before */
    /* "key=value" sets leaves, "key!" removes one; "stop", "beat": the heartbeat; "gone", "new" and
     * similar: the tree */
    const char *changes;
    const char *expected;
};

static void change(struct fixture *f, const char *changes)
{
    char *copy = strdup(changes);
    char *rest = copy;
    char *word;

    assert_non_null(copy);
    while ((word = strsep(&rest, " "))) {
        char *value = strpbrk(word, "=!");

        if (!*word) {
            continue;
        }
        if (value) {
            bool is_gone = *value == '!';
            *value++ = '\0';
            put(f, path_of_key(word), is_gone ? NULL : value);
        } else if (strcmp(word, "stop") == 0 || strcmp(word, "beat") == 0) {
            f->beats = word[0] == 'b';
        } else if (strcmp(word, "gone") == 0) {
            tree_remove(f);
        } else {
            tree_build(f, word);
        }
    }
    free(copy);
}

static void play(struct fixture *f, const char *kind, const struct step *steps)
{
    char text[512];

    tree_build(f, kind);
    collector_open(f);
    verdict_text(f, text, sizeof text);
    for (size_t i = 0; steps[i].expected; i++) {
        wait_for(f, steps[i].seconds);
        change(f, steps[i].changes);
        /* A fault is known after the next look, another tree after the fifth. */
        wait_for(f,
                 strstr(steps[i].changes, "gone") || strstr(steps[i].changes, "new") ? 1.2 : 0.2);
        verdict_text(f, text, sizeof text);
        if (strcmp(text, steps[i].expected) != 0) {
            fail_msg("step %zu (%s): %s, expected %s", i, steps[i].changes, text,
                     steps[i].expected);
        }
    }
}

static void an_error_counter_is_a_fault_until_it_stays_zero(void **state)
{
    static const struct step steps[] = {
        { 0, "", "healthy" },
        { 60, "mem=1", "unhealthy: hbm_uncorrectable" },
        { 600, "mem=3", "unhealthy: hbm_uncorrectable" },
        { 1, "mem=0", "unhealthy: hbm_uncorrectable" },
        { 28, "", "unhealthy: hbm_uncorrectable" },
        { 2, "", "healthy" },
        { 1, "repairable=1 components=hbm", "unhealthy: hbm_repairable" },
        { 1, "sram=9", "unhealthy: sram_uncorrectable, hbm_repairable" },
        { 1, "repairable=0 components= sram=0", "unhealthy: sram_uncorrectable, hbm_repairable" },
        { 31, "", "healthy" },
        { 0 },
    };

    play(*state, "new", steps);
}

static void earlier_ecc_errors_are_faults_but_earlier_statuses_are_not(void **state)
{
    static const struct step steps[] = {
        { 0, "", "unhealthy: sram_uncorrectable" },
        { 100, "", "unhealthy: sram_uncorrectable" },
        { 0 },
    };
    struct fixture *f = *state;
    char text[256];

    tree_build(f, "new");
    put(f, path_of_key("sram"), "2");
    put(f, path_of_key("dma"), "4");
    collector_open(f);
    verdict_text(f, text, sizeof text);
    assert_string_equal(text, steps[0].expected);
    wait_for(f, steps[1].seconds);
    verdict_text(f, text, sizeof text);
    assert_string_equal(text, steps[1].expected);
}

static void unhealthy_components_are_reported_until_healthy_for_30_s(void **state)
{
    static const struct step steps[] = {
        { 0, "components=link_host", "unhealthy: link_host" },
        { 20, "components=", "unhealthy: link_host" },
        { 20, "components=link_host", "unhealthy: link_host" },
        { 20, "components=", "unhealthy: link_host" },
        { 20, "components=link_host,axi_fabric", "unhealthy: link_host, axi_fabric" },
        { 5, "components=", "unhealthy: link_host, axi_fabric" },
        { 31, "", "healthy" },
        { 1, "components=warp_core", "unhealthy: component_other" },
        { 1, "components=", "unhealthy: component_other" },
        { 31, "components=firmware_service_api,firmware_service_processor",
          "unhealthy: firmware_service_api, firmware_service_processor" },
        { 0 },
    };

    play(*state, "new", steps);
}

static void an_empty_counter_file_is_reported_as_lost_after_some_seconds(void **state)
{
    static const struct step steps[] = {
        { 1, "mem!", "healthy" },
        { 2, "mem=0", "healthy" },
        { 1, "mem!", "healthy" },
        { 4, "", "unknown: signal_lost" },
        { 100, "", "unknown: signal_lost" },
        { 1, "mem=0", "unknown: signal_lost" },
        { 28, "", "unknown: signal_lost" },
        { 3, "", "healthy" },
        /* A fault stays while its end is unknown. */
        { 1, "components=hbm", "unhealthy: hbm_unhealthy" },
        { 1, "components!", "unhealthy: hbm_unhealthy" },
        { 100, "", "unhealthy: hbm_unhealthy, signal_lost" },
        { 1, "components=", "unhealthy: hbm_unhealthy, signal_lost" },
        { 31, "", "healthy" },
        { 0 },
    };

    play(*state, "new", steps);
}

static void a_healthy_device_is_unknown_after_its_heartbeat_stops(void **state)
{
    static const struct step steps[] = {
        { 10, "stop", "healthy" },
        { 28, "", "healthy" },
        { 3, "", "unknown: heartbeat_still" },
        { 500, "mem=1", "unhealthy: hbm_uncorrectable, heartbeat_still" },
        { 1, "beat mem=0", "unhealthy: hbm_uncorrectable, heartbeat_still" },
        { 31, "", "healthy" },
        /* A long stop does not count as a slower pace. */
        { 1, "stop", "healthy" },
        { 31, "", "unknown: heartbeat_still" },
        { 0 },
    };

    play(*state, "new", steps);
}

static void a_device_without_any_heartbeat_is_unknown_only_after_five_minutes(void **state)
{
    static const struct step steps[] = {
        { 290, "", "healthy" },
        { 15, "", "unknown: heartbeat_still" },
        { 1, "heartbeat=2", "unknown: heartbeat_still" },
        { 20, "heartbeat=3", "unknown: heartbeat_still" },
        { 12, "heartbeat=4", "healthy" },
        { 0 },
    };
    struct fixture *f = *state;

    tree_build(f, "new");
    f->beats = false;
    collector_open(f);
    char text[256];
    for (size_t i = 0; steps[i].expected; i++) {
        wait_for(f, steps[i].seconds);
        change(f, steps[i].changes);
        wait_for(f, 0.2);
        verdict_text(f, text, sizeof text);
        assert_string_equal(text, steps[i].expected);
    }
}

static void reloading_the_driver_clears_faults(void **state)
{
    static const struct step steps[] = {
        { 1, "mem=5 dma=1", "unhealthy: hbm_uncorrectable, dma_abort" },
        { 1, "gone", "unhealthy: hbm_uncorrectable, dma_abort" },
        { 3, "", "unhealthy: hbm_uncorrectable, dma_abort, tree_gone" },
        { 100, "", "unhealthy: hbm_uncorrectable, dma_abort, tree_gone" },
        { 1, "new", "healthy" },
        { 1, "gone", "healthy" },
        { 3, "", "unknown: tree_gone" },
        { 1, "new mem=1", "unhealthy: hbm_uncorrectable" },
        { 1, "gone new", "healthy" },
        /* ... and one with the same tree, as its heartbeat shows. */
        { 1, "mem=1", "unhealthy: hbm_uncorrectable" },
        { 1, "mem=0 heartbeat=0", "healthy" },
        { 0 },
    };

    play(*state, "new", steps);
}

static void driver_statuses_are_faults_until_a_reset_or_completed_work(void **state)
{
    static const struct step steps[] = {
        { 1, "dma=1", "unhealthy: dma_abort" },
        { 300, "", "unhealthy: dma_abort" },
        { 1, "success=5", "healthy" },
        { 1, "collectives=2", "unhealthy: collectives_hang" },
        { 5, "success=6", "unhealthy: collectives_hang" }, /* too early for a verdict */
        { 40, "success=7", "healthy" },
        { 1, "hbm_status=1", "unhealthy: hbm_uncorrectable" },
        { 300, "success=9", "unhealthy: hbm_uncorrectable" },
        { 1, "resets=1", "healthy" },
        { 1, "dma=2", "unhealthy: dma_abort" },
        { 1, "dma=0", "healthy" }, /* it was cleared */
        { 1, "overflow=1", "healthy: notification_overflow" },
        { 0 },
    };

    play(*state, "new", steps);
}

/* 128 cores; the first device has leaves, the others are idle. */
static void big_tree_build(struct fixture *f)
{
    tree_build(f, "new");
    for (f->device_count = 1; f->device_count < 16; f->device_count++) {
        char name[64];

        snprintf(name, sizeof name, "../neuron%u/core_count", f->device_count);
        put(f, name, "8");
    }
    age_tree(f);
}

/* Method: the intervals of neuron-top: one poll per second, busy cores. One poll after the other
 * reads the first device or not. */
static void top_shows_device_faults_within_2_s_and_core_faults_within_5_s(void **state)
{
    struct fixture *f = *state;
    char text[512];
    bool was_seen = false;

    big_tree_build(f);
    put(f, path_of_key("success"), "1");
    collector_open_checking(f, 3 * SECOND / 2, 5 * SECOND);
    put(f, path_of_key("dma"), "1");
    for (int second = 1; second <= 5; second++) {
        if (second == 2) {
            put(f, path_of_key("mem"), "1");
        }
        f->now_ns += SECOND;
        verdict_text(f, text, sizeof text);
        was_seen = was_seen || strstr(text, "hbm_uncorrectable");
        assert_int_equal(was_seen, second >= 3 || (second == 2 && was_seen));
        assert_string_equal(text, second == 5 ? "unhealthy: hbm_uncorrectable, dma_abort"
                                  : was_seen  ? "unhealthy: hbm_uncorrectable"
                                              : "healthy");
    }
}

/* With 128 cores, a fault of an unused core is seen within 5 s, of a busy core within 1 s. */
static void unused_cores_of_a_large_machine_are_checked_every_5_s(void **state)
{
    struct fixture *f = *state;
    char text[512];

    big_tree_build(f);
    collector_open(f);
    verdict_text(f, text, sizeof text);
    wait_for(f, 61);
    put(f, path_of_key("dma"), "1");
    wait_for(f, 5.2);
    verdict_text(f, text, sizeof text);
    assert_string_equal(text, "unhealthy: dma_abort");
    put(f, path_of_key("success"), "1");
    wait_for(f, 5.2);
    put(f, path_of_key("collectives"), "1");
    wait_for(f, 1.2);
    verdict_text(f, text, sizeof text);
    assert_string_equal(text, "unhealthy: dma_abort, collectives_hang");
    /* Idle again: cores that were not checked yet are unknown. */
    wait_for(f, 75);
    verdict_text(f, text, sizeof text);
    put(f, path_of_key("hbm_status"), "1");
    wait_for(f, 0.2);
    verdict_text(f, text, sizeof text);
    assert_string_equal(text, "unhealthy: dma_abort, collectives_hang");
    wait_for(f, 5.2);
    verdict_text(f, text, sizeof text);
    assert_non_null(strstr(text, "hbm_uncorrectable"));
}

static void health_on_an_old_driver_is_derived_from_ecc_counters(void **state)
{
    static const struct step steps[] = {
        { 400, "", "healthy" },
        { 1, "mem=1", "unhealthy: hbm_uncorrectable" },
        { 0 },
    };
    struct fixture *f = *state;
    struct ntk_snapshot *snapshot = NULL;

    play(f, "old", steps);
    assert_int_equal(ntk_collector_poll(f->collector, &snapshot, NULL), 0);
    assert_int_equal(snapshot->devices[0].health_evidence, 1u << NTK_HEALTH_BY_ECC);
    ntk_snapshot_destroy(snapshot);
}

static void health_without_error_counters_is_derived_from_statuses(void **state)
{
    static const struct step steps[] = {
        { 1, "", "healthy" },
        { 1, "dma=1", "unhealthy: dma_abort" },
        { 0 },
    };

    play(*state, "inf1", steps);
}

static void a_device_without_health_files_is_unknown(void **state)
{
    static const struct step steps[] = {
        { 1, "", "no verdict" },
        { 3, "", "unknown: no_signals" },
        { 100, "", "unknown: no_signals" },
        { 0 },
    };

    play(*state, "bare", steps);
}

static void a_health_change_is_reported_once_and_before_the_period_ends(void **state)
{
    struct fixture *f = *state;
    struct ntk_snapshot *snapshot = NULL;

    tree_build(f, "new");
    collector_open(f);
    assert_false(ntk_collector_health_changed(f->collector));
    wait_for(f, 50);
    assert_false(ntk_collector_health_changed(f->collector));
    put(f, path_of_key("components"), "link_switch");
    uint64_t fault_ns = f->now_ns;
    f->now_ns += 300000000;
    look(f);
    assert_true(ntk_collector_health_changed(f->collector));
    assert_false(ntk_collector_health_changed(f->collector));
    wait_for(f, 20);
    assert_int_equal(ntk_collector_poll(f->collector, &snapshot, NULL), 0);
    assert_int_equal(snapshot->devices[0].health[0].since_ns, EPOCH_NS + fault_ns + 300000000);
    assert_int_equal(snapshot->devices[0].health[0].last_ns, EPOCH_NS + fault_ns + 300000000);
    assert_int_equal(snapshot->devices[0].verdict_since_ns, EPOCH_NS + fault_ns + 300000000);
    assert_int_equal(ntk_health_action_of(&snapshot->devices[0]),
                     NTK_HEALTH_ACTION_REBOOT_INSTANCE);
    ntk_snapshot_destroy(snapshot);
}

/* ---- frequency of reads of the tree ---- */

#define LOOK_NS (160 * NTK_NS_PER_MS)

/* Returns how many of the checks, one every LOOK_NS, read the file; every poll_looks-th one is a
 * poll. */
static unsigned int looks_that_read(struct fixture *f, const char *key, unsigned int looks,
                                    unsigned int poll_looks)
{
    char path[1024];
    char text[512];
    char events[4096];
    unsigned int count = 0;
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

    leaf_path(f, path_of_key(key), path, sizeof path);
    assert_true(fd >= 0);
    assert_true(inotify_add_watch(fd, path, IN_ACCESS) >= 0);
    for (unsigned int i = 1; i <= looks; i++) {
        f->now_ns += LOOK_NS;
        if (poll_looks && i % poll_looks == 0) {
            verdict_text(f, text, sizeof text);
        } else {
            look(f);
        }
        count += read(fd, events, sizeof events) > 0;
    }
    close(fd);
    return count;
}

static void core_counters_are_read_once_per_report_or_every_7_s(void **state)
{
    struct fixture *f = *state;
    char text[512];

    tree_build(f, "new");
    collector_open(f);
    verdict_text(f, text, sizeof text);
    assert_int_equal(looks_that_read(f, "dma", 60, 6), 10);
    assert_int_equal(looks_that_read(f, "mem", 60, 6), 60);
    /* They are also read between infrequent reports. */
    assert_int_equal(looks_that_read(f, "dma", 70, 0), 10);
}

static void health_is_read_only_by_polls_if_they_are_frequent(void **state)
{
    struct fixture *f = *state;
    char text[512];

    tree_build(f, "new");
    collector_open_checking(f, SECOND * 3 / 2, 0);
    verdict_text(f, text, sizeof text);
    assert_int_equal(looks_that_read(f, "mem", 60, 6), 10);
    put(f, path_of_key("mem"), "1");
    verdict_text(f, text, sizeof text);
    assert_string_equal(text, "unhealthy: hbm_uncorrectable");
    /* Without polls, every tenth drain checks the health. */
    (void)ntk_collector_health_changed(f->collector);
    assert_int_equal(looks_that_read(f, "mem", 60, 0), 6);
    put(f, path_of_key("sram"), "1");
    wait_for(f, 1.6);
    assert_true(ntk_collector_health_changed(f->collector));
    /* A caller in a hurry does not wait for that. */
    put(f, path_of_key("components"), "link_switch");
    ntk_collector_hurry(f->collector);
    wait_for(f, 0.2);
    assert_true(ntk_collector_health_changed(f->collector));
}

/* Method: polls about every second, like those of neuron-top, then polls every three seconds. */
static void close_polls_of_a_large_machine_read_a_device_every_second_time(void **state)
{
    struct fixture *f = *state;
    char text[512];

    big_tree_build(f);
    collector_open_checking(f, 3 * SECOND / 2, 5 * SECOND);
    verdict_text(f, text, sizeof text);
    assert_int_equal(looks_that_read(f, "mem", 60, 6), 5);
    f->now_ns += 3 * SECOND;
    verdict_text(f, text, sizeof text);
    for (int i = 0; i < 10; i++) {
        f->now_ns += 3 * SECOND - LOOK_NS;
        assert_int_equal(looks_that_read(f, "mem", 1, 1), 1);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_error_counter_is_a_fault_until_it_stays_zero),
        TEST(earlier_ecc_errors_are_faults_but_earlier_statuses_are_not),
        TEST(unhealthy_components_are_reported_until_healthy_for_30_s),
        TEST(an_empty_counter_file_is_reported_as_lost_after_some_seconds),
        TEST(a_healthy_device_is_unknown_after_its_heartbeat_stops),
        TEST(a_device_without_any_heartbeat_is_unknown_only_after_five_minutes),
        TEST(reloading_the_driver_clears_faults),
        TEST(driver_statuses_are_faults_until_a_reset_or_completed_work),
        TEST(top_shows_device_faults_within_2_s_and_core_faults_within_5_s),
        TEST(unused_cores_of_a_large_machine_are_checked_every_5_s),
        TEST(health_on_an_old_driver_is_derived_from_ecc_counters),
        TEST(health_without_error_counters_is_derived_from_statuses),
        TEST(a_device_without_health_files_is_unknown),
        TEST(a_health_change_is_reported_once_and_before_the_period_ends),
        TEST(core_counters_are_read_once_per_report_or_every_7_s),
        TEST(health_is_read_only_by_polls_if_they_are_frequent),
        TEST(close_polls_of_a_large_machine_read_a_device_every_second_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
