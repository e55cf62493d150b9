/* SPDX-License-Identifier: MIT */
/*
 * cli - the commands of neuron-cli and their common code.
 *
 * Owner:   caller's storage.
 * Threads: one.
 */
#ifndef NTK_RUNTIME_HOOKS_RTD_CLI_CLI_H
#define NTK_RUNTIME_HOOKS_RTD_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/rpc/proto/nmgr.pb-c.h"
#include "shared/rpc/proto/openneuron_rtd.pb-c.h"
#include "shared/rpc/rpc_daemon.h"

struct cli {
    struct ntk_rpc_client *client;
    bool as_json;
    struct ntk_buf *out; /* output of a successful command */
    /* options of load */
    /* -1: the daemon creates a group; 0: the command creates a group; else an existing group */
    int64_t ncg_id;
    bool is_direct;
    uint64_t timeout_s, ninfer; /* 0 uses the default of the daemon */
};

struct cli_command {
    const char *name;
    const char *operand; /* such as "NCG-ID"; NULL if none */
    bool is_optional;
    const char *help;
    /* operand is NULL if none is given. Returns 0, or a negative number with the message. */
    int (*run)(struct cli *cli, const char *operand, struct ntk_err *err);
};

/* The list ends with a NULL name. */
extern const struct cli_command cli_commands[];

int cli_load(struct cli *cli, const char *path, struct ntk_err *err);

/* Parses a whole number from 1 on, as handles are. -EINVAL. */
int cli_number(const char *operand, uint32_t *out_number, struct ntk_err *err);

/* Format answers of the daemon as text and as JSON. */
void cli_groups_text(const Nrt__OutListEgs *groups, struct ntk_buf *out);
void cli_groups_json(const Nrt__OutListEgs *groups, struct ntk_buf *out);
void cli_models_text(const Openneuron__Rtd__V1__ListResponse *models, struct ntk_buf *out);
void cli_models_json(const Openneuron__Rtd__V1__ListResponse *models, struct ntk_buf *out);

#endif
