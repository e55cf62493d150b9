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
    struct ntk_buf *out; /* the output of a successful command */
    /* of load */
    int64_t ncg_id; /* -1: the daemon creates a group; 0: we create one; else this one */
    bool is_direct;
    uint64_t timeout_s, ninfer; /* 0: the daemon's */
};

struct cli_command {
    const char *name;
    const char *operand; /* "NCG-ID"; NULL: none */
    bool is_optional;
    const char *help;
    /* operand: NULL if none is given. 0 or negative with the message. */
    int (*run)(struct cli *cli, const char *operand, struct ntk_err *err);
};

/* A NULL name ends it. */
extern const struct cli_command cli_commands[];

int cli_load(struct cli *cli, const char *path, struct ntk_err *err);

/* A whole number from 1 on, like handles. -EINVAL. */
int cli_number(const char *operand, uint32_t *out_number, struct ntk_err *err);

/* The answers, as text and as JSON. */
void cli_groups_text(const Nrt__OutListEgs *groups, struct ntk_buf *out);
void cli_groups_json(const Nrt__OutListEgs *groups, struct ntk_buf *out);
void cli_models_text(const Openneuron__Rtd__V1__ListResponse *models, struct ntk_buf *out);
void cli_models_json(const Openneuron__Rtd__V1__ListResponse *models, struct ntk_buf *out);

#endif
