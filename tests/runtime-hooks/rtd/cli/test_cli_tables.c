/* SPDX-License-Identifier: MIT */
/* Method: hand-made answers, in the text form for operators. */
#include "runtime-hooks/rtd/cli/cli.h"

#include <string.h>

#include "tests/support/unit.h"

static void assert_out(struct ntk_buf *out, const char *expected)
{
    assert_true(ntk_buf_ok(out));
    assert_string_equal(ntk_buf_text_get(out), expected);
    ntk_buf_fini(out);
}

/* Groups of 2, 4, 3 and 1 cores on a machine of four devices. */
static void the_group_table_matches_the_vendor_format(void **state)
{
    static const uint32_t places[4][4] = {
        { 1, 2, 0, 0 }, { 2, 4, 0, 2 }, { 3, 3, 1, 2 }, { 10, 1, 2, 1 }
    };
    Nrt__OutListEgs groups = NRT__OUT_LIST_EGS__INIT;
    Nrt__EgInfo infos[4];
    Nrt__EgInfo *rows[4];
    Nrt__HEg handles[4];
    struct ntk_buf out = { 0 };

    for (size_t i = 0; i < 4; i++) {
        nrt__eg_info__init(&infos[i]);
        nrt__h_eg__init(&handles[i]);
        handles[i].id = places[i][0];
        infos[i].eg = &handles[i];
        infos[i].nc_count = places[i][1];
        infos[i].mla_start_index = places[i][2];
        infos[i].nc_start_index = places[i][3];
        rows[i] = &infos[i];
    }
    groups.n_eg_info = 4;
    groups.eg_info = rows;
    groups.mla_count = 4;
    groups.nc_count = 16;
    cli_groups_text(&groups, &out);
    assert_out(&out, "Device count 4 NC count 16\n"
                     "Found 4 NCG's\n"
                     "+--------+----------+--------------------+----------------+\n"
                     "| NCG ID | NC COUNT | DEVICE START INDEX | NC START INDEX |\n"
                     "+--------+----------+--------------------+----------------+\n"
                     "|      1 |        2 |                  0 |              0 |\n"
                     "|      2 |        4 |                  0 |              2 |\n"
                     "|      3 |        3 |                  1 |              2 |\n"
                     "|     10 |        1 |                  2 |              1 |\n"
                     "+--------+----------+--------------------+----------------+\n");
    groups.n_eg_info = 1;
    cli_groups_json(&groups, &out);
    assert_out(&out, "{\n"
                     "  \"device_count\": 4,\n"
                     "  \"nc_count\": 16,\n"
                     "  \"ncgs\": [\n"
                     "    {\n"
                     "      \"ncg_id\": 1,\n"
                     "      \"nc_count\": 2,\n"
                     "      \"device_start_index\": 0,\n"
                     "      \"nc_start_index\": 0\n"
                     "    }\n"
                     "  ]\n"
                     "}\n");
    groups.n_eg_info = 0;
    cli_groups_text(&groups, &out);
    assert_out(&out, "Device count 4 NC count 16\nFound 0 NCG's\n");
    rows[0]->eg = NULL; /* invalid in a real answer */
    groups.n_eg_info = 1;
    cli_groups_text(&groups, &out);
    assert_non_null(strstr(ntk_buf_text_get(&out), "|      0 |"));
    ntk_buf_fini(&out);
}

static void the_model_table_has_headings_of_two_lines(void **state)
{
    Openneuron__Rtd__V1__ListResponse models = OPENNEURON__RTD__V1__LIST_RESPONSE__INIT;
    Openneuron__Rtd__V1__Model first = OPENNEURON__RTD__V1__MODEL__INIT;
    Openneuron__Rtd__V1__Model second = OPENNEURON__RTD__V1__MODEL__INIT;
    Openneuron__Rtd__V1__Model third = OPENNEURON__RTD__V1__MODEL__INIT;
    Openneuron__Rtd__V1__Model *rows[] = { &first, &second, &third };
    struct ntk_buf out = { 0 };

    first.id = 10001;
    first.uuid = "f63fc151-8cad-5b00-8b0d-277094fa0866";
    first.name = "a-name-of-more-than-twenty-characters-\xc3\xa9";
    first.status = OPENNEURON__RTD__V1__MODEL_STATE__MODEL_READY;
    first.device_start = 3;
    first.nc_start = 2;
    first.nc_count = 4;
    first.eg_id = 12;
    first.mem_device = 4096;
    second.id = 10002;
    second.uuid = "";
    second.name = "mlp";
    third.id = 10003;
    third.uuid = "u";
    third.name = "\033[2J";
    third.status = OPENNEURON__RTD__V1__MODEL_STATE__MODEL_FAILED;
    models.n_models = 3;
    models.models = rows;
    cli_models_text(&models, &out);
    assert_out(
        &out,
        "Found 3 models\n"
        "+--------------------------------------+-------+---------+---------------+-------+-------+"
        "-----+----------------------+\n"
        "|                 UUID                 | MODEL |  MODEL  | NEURON DEVICE |  NC   |  NC   |"
        " NCG |         NAME         |\n"
        "|                                      |  ID   | STATUS  |  START INDEX  | INDEX | COUNT |"
        " ID  |                      |\n"
        "+--------------------------------------+-------+---------+---------------+-------+-------+"
        "-----+----------------------+\n"
        "| f63fc151-8cad-5b00-8b0d-277094fa0866 | 10001 | READY   |             3 |     2 |     4 |"
        "  12 | -twenty-characters-\xc3\xa9 |\n"
        "|                                      | 10002 | STANDBY |             0 |     0 |     0 |"
        "   0 | mlp                  |\n"
        "| u                                    | 10003 | FAILED  |             0 |     0 |     0 |"
        "   0 | \xef\xbf\xbd[2J                 |\n"
        "+--------------------------------------+-------+---------+---------------+-------+-------+"
        "-----+----------------------+\n");
    models.n_models = 1;
    cli_models_json(&models, &out);
    assert_non_null(strstr(ntk_buf_text_get(&out),
                           "\"name\": \"a-name-of-more-than-twenty-characters-\xc3\xa9\""));
    assert_non_null(strstr(ntk_buf_text_get(&out), "\"device_memory_bytes\": 4096"));
    ntk_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_group_table_matches_the_vendor_format),
        cmocka_unit_test(the_model_table_has_headings_of_two_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
