/* SPDX-License-Identifier: MIT */
/*
 * json - writes the machine as JSON: the vendor's array of devices (-j), and an object around it.
 */
#ifndef NTK_TOP_LS_JSON_H
#define NTK_TOP_LS_JSON_H

#include "shared/base/buf.h"
#include "top/ls/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes an array with one object per device. */
void ntk_ls_json_write_array(const struct ntk_ls_machine *machine, struct ntk_buf *out);
/* Writes an object: format, instance_type, instance_id, driver_version, logical_neuroncore_config
 * (null if there is none), ultraserver (an object or null), neuron_devices: the array, with more
 * facts about each device and process; pci_devices: the PCI places of devices, by address, even if
 * their order is unknown. */
void ntk_ls_json_write_object(const struct ntk_ls_machine *machine, struct ntk_buf *out);

#ifdef __cplusplus
}
#endif
#endif
