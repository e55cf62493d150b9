/* SPDX-License-Identifier: MIT */
/* Labels of series: from the user, and of instance, pod and application. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/exporter.h"
#include "exporters/prometheus/prometheus_encode.h"
#include "tests/exporters/prometheus/prometheus_fixture.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

static void tell(struct ntk_instance instance, const char *expected)
{
    struct ntk_snapshot *snapshot = sample(1);

    snapshot->instance = instance;
    update(snapshot);
    char *text = encode(true);
    assert_line(text, expected);
    free(text);
}

/* First the firmware, then the metadata service piece by piece, then the machine is renamed. */
static void instance_labels_are_added_when_known_and_kept(void **state)
{
    struct ntk_instance instance = { .texts = { "", "", "", "", "", "", "", "", "" }, .error = "" };

    tell(instance, "system_vcpu_count{availability_zone=\"\",instance_id=\"\",instance_name=\"\","
                   "instance_type=\"trn2.3xlarge\",region=\"\",subnet_id=\"\"} 12");
    instance.id = "i-1";
    instance.availability_zone = "eu-west-1a";
    tell(instance,
         "system_vcpu_count{availability_zone=\"eu-west-1a\",instance_id=\"i-1\","
         "instance_name=\"\",instance_type=\"trn2.3xlarge\",region=\"\",subnet_id=\"\"} 12");
    instance.type = "trn2u.48xlarge";
    instance.region = "eu-west-1";
    instance.subnet_id = "subnet-1";
    instance.name = "one";
    tell(
        instance,
        "system_vcpu_count{availability_zone=\"eu-west-1a\",instance_id=\"i-1\",instance_name="
        "\"one\",instance_type=\"trn2u.48xlarge\",region=\"eu-west-1\",subnet_id=\"subnet-1\"} 12");
    instance = (struct ntk_instance){ .name = "two",
                                      .id = "i-2",
                                      .type = "t",
                                      .availability_zone = "z",
                                      .availability_zone_id = "",
                                      .region = "r",
                                      .ami_id = "",
                                      .subnet_id = "s",
                                      .ultraserver_id = "u-1",
                                      .error = "" };
    tell(instance,
         "system_vcpu_count{availability_zone=\"eu-west-1a\",instance_id=\"i-1\",instance_"
         "name=\"one\",instance_type=\"trn2u.48xlarge\",region=\"eu-west-1\",subnet_id="
         "\"subnet-1\",ultraserver_id=\"u-1\"} 12");
    instance =
        (struct ntk_instance){ .texts = { "", "", "", "", "", "", "", "", "" }, .error = "" };
    tell(instance,
         "system_vcpu_count{availability_zone=\"eu-west-1a\",instance_id=\"i-1\",instance_"
         "name=\"one\",instance_type=\"trn2u.48xlarge\",region=\"eu-west-1\",subnet_id="
         "\"subnet-1\",ultraserver_id=\"u-1\"} 12");
}

static void runtimes_with_one_tag_share_series(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);

    snapshot->runtimes[1].tag = snapshot->runtimes[0].tag;
    snapshot->runtimes[1].uid = snapshot->runtimes[0].uid;
    snapshot->runtimes[1].cores[0].core = 1;
    snapshot->runtimes[1].cores[0].utilization = 0.9;
    update(snapshot);
    char *text = encode(false);
    assert_line(text,
                "execution_status_total{availability_zone=\"\"," I_HEAD
                "region=\"\",runtime_tag=\"" TAG "\",status_type=\"completed\",subnet_id=\"\"} 77");
    assert_line(text, "neuroncore_utilization_ratio{availability_zone=\"\"," I_HEAD
                      "neuroncore=\"1\",region=\"\",runtime_tag=\"" TAG "\",subnet_id=\"\"} 0.9");
    free(text);
}

static void series_of_cores_and_applications_have_pod_labels(void **state)
{
    static const char *const lines[] = {
        "neuroncore_utilization_ratio{availability_zone=\"\",container_name=\"serve\"," I_HEAD
        "namespace=\"ml\",neuroncore=\"1\",pod_name=\"bert-0\",region=\"\",runtime_tag=\"" TAG
        "\",subnet_id=\"\"} 0.375",
        "execution_status_total{availability_zone=\"\",container_name=\"serve\"," I_HEAD
        "namespace=\"ml\",pod_name=\"bert-0\",region=\"\",runtime_tag=\"" TAG
        "\",status_type=\"completed\",subnet_id=\"\"} 70",
        "neuron_execution_latency_seconds_bucket{availability_zone=\"\",container_name=\"serve"
        "\"," I_HEAD "latency_type=\"total\",le=\"0.001048576\",model_name=\"bert_base.neff\","
        "namespace=\"ml\",pod_name=\"bert-0\",region=\"\",runtime_tag=\"" TAG
        "\",subnet_id=\"\"} 0",
        /* series of the machine: the owner of the core or device */
        "neuroncore_total_utilization_ratio{availability_zone=\"\",container_name=\"serve,side\","
        "" I_HEAD "namespace=\"ml\",neuroncore=\"1\",pod_name=\"bert-0\",region=\"\","
        "subnet_id=\"\"}",
        "hardware_ecc_events_total{availability_zone=\"\",container_name=\"main\",event_type=\"sram"
        "_ecc_corrected\"," I_HEAD "namespace=\"ml\",neuron_device_index=\"0\",pod_name=\"train-0\""
        ",region=\"\",subnet_id=\"\"} 4",
    };
    static const char *const both[] = { "serve", "side" };
    static const char *const one[] = { "main" };
    struct ntk_k8s_owner core = { 1, "bert-0", "ml", both, 2 };
    struct ntk_k8s_owner device = { 0, "train-0", "ml", one, 1 };
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);

    snapshot->k8s = (struct ntk_k8s){ .period_ns = 1,
                                      .error = "",
                                      .cores = &core,
                                      .core_count = 1,
                                      .devices = &device,
                                      .device_count = 1 };
    update(snapshot);
    char *text = encode(false);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!strstr(text, lines[i])) {
            fail_msg("no '%s' in:\n%.9000s", lines[i], text);
        }
    }
    free(text);

    /* The core was released. */
    snapshot = test_sample_snapshot(1);
    snapshot->k8s = (struct ntk_k8s){ .period_ns = 1, .error = "" };
    update(snapshot);
    text = encode(false);
    assert_no(text, "train-0");
    assert_no(text, "serve,side");
    free(text);
}

static void processes_of_two_users_with_one_tag_have_separate_series(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);

    snapshot->runtimes[1].tag = snapshot->runtimes[0].tag;
    snapshot->runtimes[1].uid = snapshot->runtimes[0].uid + 1;
    snapshot->runtimes[1].user = "mallory";
    update(snapshot);
    char *text = encode(false);
    assert_line(text,
                "execution_status_total{availability_zone=\"\"," I_HEAD
                "region=\"\",runtime_tag=\"" TAG "\",status_type=\"completed\",subnet_id=\"\"} 70");
    assert_line(text, "execution_status_total{availability_zone=\"\"," I_HEAD
                      "region=\"\",runtime_tag=\"" TAG
                      "\",status_type=\"completed\",subnet_id=\"\",user=\"mallory\"} 7");
    free(text);
}

static void processes_in_two_pods_with_one_tag_have_separate_series(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);

    snapshot->runtimes[1].tag = snapshot->runtimes[0].tag;
    snapshot->runtimes[1].pod = (struct ntk_pod){ "bert-1", "ml", "serve" };
    update(snapshot);
    char *text = encode(false);
    assert_line(text, "execution_status_total{availability_zone=\"\",container_name=\"serve"
                      "\"," I_HEAD "namespace=\"ml\",pod_name=\"bert-0\",region=\"\","
                      "runtime_tag=\"" TAG "\",status_type=\"completed\",subnet_id=\"\"} 70");
    assert_line(text, "execution_status_total{availability_zone=\"\",container_name=\"serve"
                      "\"," I_HEAD "namespace=\"ml\",pod_name=\"bert-1\",region=\"\","
                      "runtime_tag=\"" TAG "\",status_type=\"completed\",subnet_id=\"\"} 7");
    free(text);
    /* One of them ends; the other continues. */
    snapshot = test_sample_snapshot(1);
    snapshot->runtime_count = 1;
    update(snapshot);
    text = encode(false);
    assert_no(text, "bert-1");
    assert_line(text, "execution_status_total{availability_zone=\"\",container_name=\"serve"
                      "\"," I_HEAD "namespace=\"ml\",pod_name=\"bert-0\",region=\"\","
                      "runtime_tag=\"" TAG "\",status_type=\"completed\",subnet_id=\"\"} 140");
    free(text);
}

static void applications_with_one_tag_are_separated_by_pid_on_request(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);
    uint32_t pid[] = { snapshot->runtimes[0].pid, snapshot->runtimes[1].pid };
    char line[512];

    page.has_pid_label = true;
    snapshot->runtimes[1].tag = snapshot->runtimes[0].tag;
    update(snapshot);
    char *text = encode(false);
    for (size_t i = 0; i < 2; i++) {
        snprintf(line, sizeof line,
                 "execution_status_total{availability_zone=\"\"," I_HEAD
                 "pid=\"%u\",region=\"\",runtime_tag=\"" TAG
                 "\",status_type=\"completed\",subnet_id=\"\"} %d",
                 pid[i], i == 0 ? 70 : 7);
        assert_line(text, line);
    }
    free(text);
}

/* Applications with these tags, 10 executions each. */
static void update_tags(const char *const *tags, size_t count)
{
    struct ntk_snapshot *snapshot = test_idle_snapshot();
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc_runtimes(snapshot, count);

    for (size_t i = 0; i < count; i++) {
        runtimes[i].has = NTK_RUNTIME_HAS_EXECUTIONS;
        runtimes[i].tag = tags[i];
        runtimes[i].outcome[NTK_OUTCOME_COMPLETED].period = 10;
    }
    update(snapshot);
}

static void assert_completed(const char *tag, const char *value)
{
    char *text = encode(false);
    char part[128];

    snprintf(part, sizeof part, "runtime_tag=\"%s\",status_type=\"completed\",subnet_id=\"\"} %s\n",
             tag, value);
    if (!strstr(text, part)) {
        fail_msg("'%s' is not in:\n%s", part, text);
    }
    free(text);
}

static void assert_others(const char *value)
{
    char *text = encode(false);
    const char *line = strstr(text, "\nneuron_monitor_other_applications{");

    assert_non_null(line);
    assert_int_equal(strncmp(strchr(line + 1, '}') + 2, value, strlen(value)), 0);
    free(text);
}

static void applications_beyond_the_limit_share_series_and_are_counted(void **state)
{
    static const char *const first[] = { "a", "b", "c", "d", "d", "e" };
    static const char *const then[] = { "b", "c", "d", "d", "e" };

    page.application_max = 2;
    update_tags(first, 6);
    assert_completed("a", "10");
    assert_completed("b", "10");
    assert_completed(NTK_EXPORTER_OTHER, "40");
    assert_others("3\n");
    /* a has ended: the oldest application of the rest takes its place in the next page. */
    update_tags(then, 5);
    assert_completed(NTK_EXPORTER_OTHER, "80");
    update_tags(then, 5);
    assert_completed("b", "30");
    assert_completed("c", "10");
    assert_completed(NTK_EXPORTER_OTHER, "110"); /* counters continue */
    assert_others("2\n");
    char *text = encode(false);
    assert_no(text, "runtime_tag=\"d\"");
    free(text);
}

/* No user can displace the applications of others. */
static void one_user_does_not_displace_applications_of_others(void **state)
{
    static const uint32_t uids[] = { 1001, 1001, 1001, 1001, 1002, 1002, 1003 };
    static const char *const tags[] = { "a", "b", "c", "d", "e", "f", "g" };
    struct ntk_snapshot *snapshot = test_idle_snapshot();
    enum { COUNT = sizeof tags / sizeof *tags };
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc_runtimes(snapshot, COUNT);

    page.application_max = 4;
    for (size_t i = 0; i < COUNT; i++) {
        runtimes[i].has = NTK_RUNTIME_HAS_EXECUTIONS;
        runtimes[i].tag = tags[i];
        runtimes[i].uid = uids[i];
        runtimes[i].outcome[NTK_OUTCOME_COMPLETED].period = 10;
    }
    update(snapshot);
    assert_completed("a", "10");
    assert_completed("b", "10");
    assert_completed("c", "10");
    assert_completed("e", "10");
    assert_completed(NTK_EXPORTER_OTHER, "30");
    assert_others("3\n");
}

/* However many users take everything they can get, a user with two applications is not in the
 * rest. */
static void users_with_few_applications_are_not_displaced_by_many_users(void **state)
{
    enum { GREEDY = 3, EACH = NTK_EXPORTER_APPLICATIONS, COUNT = GREEDY * EACH + 2 };
    struct ntk_snapshot *snapshot = test_idle_snapshot();
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc_runtimes(snapshot, COUNT);

    page.application_max = NTK_EXPORTER_APPLICATIONS;
    for (size_t i = 0; i < COUNT; i++) {
        runtimes[i].has = NTK_RUNTIME_HAS_EXECUTIONS;
        runtimes[i].tag = i < COUNT - 2 ? ntk_snapshot_format(snapshot, "greedy-%zu", i)
                                        : (i == COUNT - 2 ? "first" : "second");
        runtimes[i].uid = (uint32_t)(1001 + i / EACH);
        runtimes[i].outcome[NTK_OUTCOME_COMPLETED].period = 10;
    }
    update(snapshot);
    assert_completed("first", "10");
    assert_completed("second", "10");
    assert_others("134\n"); /* 48, 8 and 2 applications of the greedy users have their own series */
}

#define OTHER_COMPLETED "runtime_tag=\"" NTK_EXPORTER_OTHER "\",status_type=\"completed\""

/* Each series appears once; otherwise Prometheus drops one of the two. */
static void an_application_named_like_the_shared_series_is_merged_into_it(void **state)
{
    static const char *const tags[] = { NTK_EXPORTER_OTHER, "a", "b", "c" };

    page.application_max = 2;
    update_tags(tags, 4);
    assert_completed("a", "10");
    assert_completed("b", "10");
    assert_completed(NTK_EXPORTER_OTHER, "20");
    assert_others("2\n");
    char *text = encode(false);
    unsigned count = 0;
    for (const char *line = text; (line = strstr(line, "\nexecution_status_total{")); line++) {
        const char *end = strchr(line + 1, '\n');
        count +=
            memmem(line, (size_t)(end - line), OTHER_COMPLETED, strlen(OTHER_COMPLETED)) != NULL;
    }
    assert_int_equal(count, 1);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        CASE(instance_labels_are_added_when_known_and_kept),
        CASE(runtimes_with_one_tag_share_series),
        CASE(series_of_cores_and_applications_have_pod_labels),
        CASE(processes_of_two_users_with_one_tag_have_separate_series),
        CASE(processes_in_two_pods_with_one_tag_have_separate_series),
        CASE(applications_with_one_tag_are_separated_by_pid_on_request),
        CASE(applications_beyond_the_limit_share_series_and_are_counted),
        CASE(one_user_does_not_displace_applications_of_others),
        CASE(users_with_few_applications_are_not_displaced_by_many_users),
        CASE(an_application_named_like_the_shared_series_is_merged_into_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
