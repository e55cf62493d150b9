/* SPDX-License-Identifier: MIT */
/* vendor_var - finds the variable at an address in a compiler's transfer. */
#include "shared/formats/neff/vendor_slot.h"

#include <stddef.h>

#include "shared/formats/neff/neff.h"

/* The entry at an index of the descriptor table, which contains the number of a variable. If there
 * are several tables, the right one is unknown. */
static const struct ntk_neff_var *var_in_table(const struct ntk_neff_subgraph *subgraph,
                                               uint32_t index)
{
    const struct ntk_neff_var *table = NULL;

    if (subgraph->vars_by_id && subgraph->dge_table_count == 1) {
        table = &subgraph->vars[subgraph->dge_table];
    }
    for (uint32_t v = 0; v < subgraph->var_count && !subgraph->vars_by_id; v++) {
        if (subgraph->vars[v].type == NTK_NEFF_VAR_DGE_TABLE) {
            if (table) {
                return NULL;
            }
            table = &subgraph->vars[v];
        }
    }
    return table && index < table->list_count ? ntk_neff_var_by_id(subgraph, table->list[index])
                                              : NULL;
}

const struct ntk_neff_var *ntk_vendor_slot_var(const struct ntk_neff_subgraph *subgraph,
                                               uint64_t address)
{
    uint32_t number = (uint32_t)(address >> 32 & 0xffff);

    switch (address >> 56) {
    case NTK_VENDOR_ADDRESS_VAR:
        return ntk_neff_var_by_id(subgraph, number);
    case NTK_VENDOR_ADDRESS_TABLE:
    case NTK_VENDOR_ADDRESS_TABLE_REGISTER:
        return var_in_table(subgraph, number);
    default:
        return NULL;
    }
}
