/* SPDX-License-Identifier: MIT */
/* The table and the JSON with processes, for hand-made machines. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "shared/abi/segment_abi.h"
#include "shared/base/str.h"
#include "tests/support/unit.h"
#include "tests/top/ls/golden.h"
#include "top/ls/health.h"
#include "top/ls/json.h"
#include "top/ls/table.h"
#include "top/ls/topology.h"

static int set_up(void **state)
{
    struct ntk_ls_machine *machine = calloc(1, sizeof *machine);

    assert_non_null(machine);
    *machine = (struct ntk_ls_machine){ .instance_type = "trn2.48xlarge",
                                        .instance_id = "i-0123456789abcdef0",
                                        .lnc = 2,
                                        .has_lnc = true,
                                        .device_count = 2,
                                        .processes = NTK_VEC_INIT(struct ntk_ls_process) };
    machine->devices = calloc(2, sizeof *machine->devices);
    assert_non_null(machine->devices);
    for (uint32_t i = 0; i < 2; i++) {
        struct ntk_ls_device *device = &machine->devices[i];

        device->info = (struct ntk_device_info){ .index = i,
                                                 .core_count = 8,
                                                 .has_connected_devices = true,
                                                 .connected_device_count = 1,
                                                 .connected_devices = { (uint8_t)(1 - i) } };
        device->place = (struct ntk_device_place){ .has_numa_node = true, .numa_node = 1 };
        ntk_str_copy(device->place.bdf, sizeof device->place.bdf,
                     i == 0 ? "0000:cc:00.0" : "0000:b5:00.0");
        ntk_str_copy(device->place.cpu_list, sizeof device->place.cpu_list, "48-95,144-191");
        device->core_count = 4;
        device->first_core = 4 * i;
        device->memory_bytes = UINT64_C(96) << 30;
    }
    *state = machine;
    return 0;
}

static int tear_down(void **state)
{
    ntk_ls_machine_fini(*state);
    free(*state);
    return 0;
}

static void add(struct ntk_ls_machine *machine, uint32_t pid, const char *command,
                const char *version, uint64_t devices)
{
    struct ntk_ls_process *process = ntk_vec_add(&machine->processes);

    assert_non_null(process);
    process->pid = pid;
    process->is_runtime = version != NULL;
    process->has_segment = version != NULL;
    process->flags = pid % 2 ? NTK_PROCESS_ATTACHED | NTK_PROCESS_CORES_GUESSED : 0;
    ntk_str_copy(process->runtime_version, sizeof process->runtime_version, version ? version : "");
    ntk_str_copy(process->command, sizeof process->command, command);
    process->devices = devices;
    process->cores[0] = 0x0f;
    process->cores[1] = 0x03;
}

static void add_usual(struct ntk_ls_machine *machine)
{
    add(machine, 4711,
        "python train.py --config configs/llama-3.1-70b.yaml --steps 100000 --seed 1", "2.34.10",
        3);
    add(machine, 4802, "neuron-ls --show-all-procs", NULL, 1);
}

static void a_busy_device_has_a_row_per_process(void **state)
{
    static const struct {
        enum ntk_ls_form form;
        const char *name;
    } forms[] = { { NTK_LS_FORM_DEFAULT, "busy_default" },
                  { NTK_LS_FORM_WIDE, "busy_wide" },
                  { NTK_LS_FORM_ALL, "busy_all" },
                  { NTK_LS_FORM_WIDE_ALL, "busy_wide_all" },
                  { NTK_LS_FORM_TOPOLOGY, "busy_topology" } };
    struct ntk_ls_machine *machine = *state;

    add_usual(machine);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct ntk_buf text = { 0 };

        ntk_ls_table_write(machine, forms[i].form, &text);
        golden_assert(&text, forms[i].name);
    }
}

static void a_single_process_is_listed_without_row_separators(void **state)
{
    struct ntk_ls_machine *machine = *state;
    struct ntk_buf text = { 0 };

    add(machine, 1, "a", "2.34.10", 2);
    ntk_ls_table_write(machine, NTK_LS_FORM_DEFAULT, &text);
    golden_assert(&text, "busy_one");
}

static void the_command_column_is_omitted_if_all_commands_are_unknown(void **state)
{
    struct ntk_ls_machine *machine = *state;
    struct ntk_buf text = { 0 };

    add(machine, 1, "", "2.34.10", 3);
    ntk_ls_table_write(machine, NTK_LS_FORM_DEFAULT, &text);
    golden_assert(&text, "busy_no_command");
}

static struct ntk_health_sample faults[] = { { .reason = NTK_HEALTH_REASON_HBM_REPAIRABLE },
                                             { .reason = NTK_HEALTH_REASON_LINK_HOST } };

static void an_unhealthy_device_has_a_health_line(void **state)
{
    struct ntk_ls_machine *machine = *state;
    struct ntk_buf text = { 0 };

    machine->devices[0].health.has = machine->devices[1].health.has = NTK_DEVICE_HAS_HEALTH;
    ntk_ls_health_write(machine, &text);
    assert_string_equal(ntk_buf_text_get(&text), "");
    machine->devices[1].health.index = 1;
    machine->devices[1].health.verdict = NTK_HEALTH_UNHEALTHY;
    machine->devices[1].health.health = faults;
    machine->devices[1].health.health_count = 2;
    ntk_ls_health_write(machine, &text);
    assert_string_equal(
        ntk_buf_text_get(&text),
        "Device 1 is unhealthy (hbm_repairable): device memory has errors that reloading the "
        "driver repairs; reboot the instance; replace it if the fault comes back\n");
    ntk_buf_fini(&text);
}

static void json_output_has_the_processes_of_each_device(void **state)
{
    struct ntk_ls_machine *machine = *state;
    struct ntk_buf text = { 0 };

    add_usual(machine);
    machine->devices[1].health = (struct ntk_device_sample){ .has = NTK_DEVICE_HAS_HEALTH,
                                                             .index = 1,
                                                             .verdict = NTK_HEALTH_UNHEALTHY,
                                                             .health = faults,
                                                             .health_count = 2 };
    ntk_ls_json_write_array(machine, &text);
    golden_assert(&text, "busy_array");
    ntk_ls_json_write_object(machine, &text);
    golden_assert(&text, "busy_object");
}

static void columns_are_aligned_next_to_wide_characters(void **state)
{
    struct ntk_ls_machine *machine = *state;
    struct ntk_buf text = { 0 };

    add(machine, 1, "训练 --模型 大型语言模型 --数据 中文维基百科全书和新闻语料库 --轮数 3",
        "2.34.10", 1);
    add(machine, 2, "e\xcc\x81tude na\xc3\xafve", "2.34.10", 2);
    ntk_ls_table_write(machine, NTK_LS_FORM_DEFAULT, &text);
    golden_assert(&text, "wide_characters");
}

static void a_long_command_is_truncated_with_three_dots(void **state)
{
    static const struct {
        const char *command;
        const char *want;
    } cases[] = {
        { "", "" },
        { "1234567890123456789012345678901234567890", "1234567890123456789012345678901234567890" },
        { "12345678901234567890123456789012345678901", "1234567890123456789012345678901234567..." },
        { "neuron-bench exec --run-as-cc-neff --verbose",
          "neuron-bench exec --run-as-cc-neff --..." },
        { "123456789012345678901234567890123456\xe4\xb8\xad-----",
          "123456789012345678901234567890123456 ..." },
        { "12345678901234567890123456789012345\xe4\xb8\xad------",
          "12345678901234567890123456789012345\xe4\xb8\xad..." },
        { "\xff\xff", "\xff\xff" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ntk_buf text = { 0 };

        ntk_ls_command_write(cases[i].command, NTK_LS_COMMAND_CELLS, &text);
        assert_string_equal(ntk_buf_text_get(&text), cases[i].want);
        ntk_buf_fini(&text);
    }
}

static void the_topology_of_an_incomplete_machine_is_not_drawn(void **state)
{
    struct ntk_ls_machine *machine = *state;

    assert_int_equal(ntk_ls_topology_find(machine), NTK_TOPOLOGY_CHAIN);
    machine->devices[0].info.index = 7; /* in a container that sees devices 7 and 8 */
    machine->devices[1].info.index = 8;
    assert_int_equal(ntk_ls_topology_find(machine), NTK_TOPOLOGY_OTHER);
}

static void unreadable_device_links_are_reported(void **state)
{
    struct ntk_ls_machine *machine = *state;
    struct ntk_buf text = { 0 };

    machine->devices[1].info.has_connected_devices = false;
    machine->devices[1].info.connected_device_count = 0;
    ntk_ls_topology_write(machine, &text);
    assert_string_equal(ntk_buf_text_get(&text),
                        "\n\nNeuron Device Topology\n    The links cannot be read; drivers before "
                        "2.28 show them only to root\n");
    ntk_buf_fini(&text);
}

static void sixty_four_devices_are_drawn_as_four_tori(void **state)
{
    struct ntk_ls_machine machine = { .device_count = 64 };
    struct ntk_buf text = { 0 };

    machine.devices = calloc(64, sizeof *machine.devices);
    assert_non_null(machine.devices);
    for (uint32_t i = 0; i < 64; i++) {
        struct ntk_device_info *info = &machine.devices[i].info;
        uint32_t base = i & ~15u;

        info->index = i;
        info->connected_device_count = 4;
        info->connected_devices[0] = (uint8_t)(base + (i + 4) % 16);
        info->connected_devices[1] = (uint8_t)(base + (i + 12) % 16);
        info->connected_devices[2] = (uint8_t)((i & ~3u) + (i + 1) % 4);
        info->connected_devices[3] = (uint8_t)((i & ~3u) + (i + 3) % 4);
    }
    assert_int_equal(ntk_ls_topology_find(&machine), NTK_TOPOLOGY_TORUS);
    ntk_ls_topology_write(&machine, &text);
    assert_non_null(
        strstr(ntk_buf_text_get(&text), "  *––►[60 ]◄––►[61 ]◄––►[62 ]◄––►[63 ]◄––*\n"));
    ntk_buf_fini(&text);
    machine.devices[63].info.connected_devices[0] = 63;
    assert_int_equal(ntk_ls_topology_find(&machine), NTK_TOPOLOGY_OTHER);
    free(machine.devices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_busy_device_has_a_row_per_process),
        TEST(a_single_process_is_listed_without_row_separators),
        TEST(the_command_column_is_omitted_if_all_commands_are_unknown),
        TEST(an_unhealthy_device_has_a_health_line),
        TEST(json_output_has_the_processes_of_each_device),
        TEST(columns_are_aligned_next_to_wide_characters),
        TEST(a_long_command_is_truncated_with_three_dots),
        TEST(the_topology_of_an_incomplete_machine_is_not_drawn),
        TEST(unreadable_device_links_are_reported),
        TEST(sixty_four_devices_are_drawn_as_four_tori),
    };

    if (!setlocale(LC_CTYPE, "C.UTF-8")) {
        return test_skip("no locale C.UTF-8");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
