/* SPDX-License-Identifier: MIT */
/* cli_tables - prints groups and models as the tables of the original tool, and as JSON. */
#include <string.h>

#include "runtime-hooks/rtd/cli/cli.h"
#include "shared/base/json.h"
#include "shared/base/text_table.h"

#define NAME_CHARACTERS 20

/* ---- groups ---- */

void cli_groups_text(const Nrt__OutListEgs *groups, struct ntk_buf *out)
{
    static const char *const heads[] = { "NCG ID", "NC COUNT", "DEVICE START INDEX",
                                         "NC START INDEX" };
    struct ntk_text_table table;

    ntk_buf_add_format(out, "Device count %u NC count %u\nFound %zu NCG's\n", groups->mla_count,
                       groups->nc_count, groups->n_eg_info);
    if (groups->n_eg_info == 0) {
        return;
    }
    ntk_text_table_init(&table, 4, 0, NULL);
    table.framed = 1;
    ntk_text_table_rule(&table);
    for (size_t i = 0; i < 4; i++) {
        ntk_text_table_text(&table, heads[i]);
    }
    ntk_text_table_rule(&table);
    for (size_t i = 0; i < groups->n_eg_info; i++) {
        const Nrt__EgInfo *info = groups->eg_info[i];

        ntk_text_table_format(&table, "%u", info->eg ? info->eg->id : 0);
        ntk_text_table_format(&table, "%u", info->nc_count);
        ntk_text_table_format(&table, "%u", info->mla_start_index);
        ntk_text_table_format(&table, "%u", info->nc_start_index);
    }
    ntk_text_table_rule(&table);
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
}

void cli_groups_json(const Nrt__OutListEgs *groups, struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, true);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "device_count", groups->mla_count);
    ntk_json_key_u64(&json, "nc_count", groups->nc_count);
    ntk_json_key_array_begin(&json, "ncgs");
    for (size_t i = 0; i < groups->n_eg_info; i++) {
        const Nrt__EgInfo *info = groups->eg_info[i];

        ntk_json_object_begin(&json);
        ntk_json_key_u64(&json, "ncg_id", info->eg ? info->eg->id : 0);
        ntk_json_key_u64(&json, "nc_count", info->nc_count);
        ntk_json_key_u64(&json, "device_start_index", info->mla_start_index);
        ntk_json_key_u64(&json, "nc_start_index", info->nc_start_index);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_text(out, "\n");
}

/* ---- models ---- */

static const char *state_name(Openneuron__Rtd__V1__ModelState state)
{
    static const char *const names[] = { "STANDBY", "READY", "FAILED" };

    return (unsigned)state < sizeof names / sizeof *names ? names[state] : "UNKNOWN";
}

/* Returns the end of the name, where models of one family differ. */
static const char *name_end(const char *name)
{
    size_t characters = 0;
    const char *at = name + strlen(name);

    while (at > name && characters < NAME_CHARACTERS) {
        at--;
        characters += ((unsigned char)*at & 0xc0) != 0x80;
    }
    return at;
}

void cli_models_text(const Openneuron__Rtd__V1__ListResponse *models, struct ntk_buf *out)
{
    static const char *const heads[2][8] = {
        { "UUID", "MODEL", "MODEL", "NEURON DEVICE", "NC", "NC", "NCG", "NAME" },
        { "", "ID", "STATUS", "START INDEX", "INDEX", "COUNT", "ID", "" },
    };
    struct ntk_text_table table;

    ntk_buf_add_format(out, "Found %zu model%s\n", models->n_models,
                       models->n_models == 1 ? "" : "s");
    if (models->n_models == 0) {
        return;
    }
    ntk_text_table_init(&table, 8, 1u << 0 | 1u << 2 | 1u << 7, NULL);
    table.framed = 2;
    ntk_text_table_rule(&table);
    for (size_t i = 0; i < 16; i++) {
        ntk_text_table_text(&table, heads[i / 8][i % 8]);
    }
    ntk_text_table_rule(&table);
    for (size_t i = 0; i < models->n_models; i++) {
        const Openneuron__Rtd__V1__Model *model = models->models[i];

        ntk_text_table_text(&table, model->uuid);
        ntk_text_table_format(&table, "%u", model->id);
        ntk_text_table_text(&table, state_name(model->status));
        ntk_text_table_format(&table, "%u", model->device_start);
        ntk_text_table_format(&table, "%u", model->nc_start);
        ntk_text_table_format(&table, "%u", model->nc_count);
        ntk_text_table_format(&table, "%u", model->eg_id);
        ntk_text_table_text(&table, name_end(model->name));
    }
    ntk_text_table_rule(&table);
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
}

void cli_models_json(const Openneuron__Rtd__V1__ListResponse *models, struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, true);
    ntk_json_object_begin(&json);
    ntk_json_key_array_begin(&json, "models");
    for (size_t i = 0; i < models->n_models; i++) {
        const Openneuron__Rtd__V1__Model *model = models->models[i];

        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "uuid", model->uuid);
        ntk_json_key_u64(&json, "model_id", model->id);
        ntk_json_key_text(&json, "status", state_name(model->status));
        ntk_json_key_u64(&json, "device_start_index", model->device_start);
        ntk_json_key_u64(&json, "nc_start_index", model->nc_start);
        ntk_json_key_u64(&json, "nc_count", model->nc_count);
        ntk_json_key_u64(&json, "ncg_id", model->eg_id);
        ntk_json_key_text(&json, "name", model->name);
        ntk_json_key_u64(&json, "host_memory_bytes", model->mem_host);
        ntk_json_key_u64(&json, "device_memory_bytes", model->mem_device);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_text(out, "\n");
}
