/* SPDX-License-Identifier: MIT */
/*
 * vendor_clock_rule - the rule for times of the device in the vendor's ntrace.pb, checked record by
 * record: field 2 is nc_timestamp_ns, shifted by the last preceding sync point of the physical
 * core.
 */
#ifndef NTK_TESTS_SUPPORT_VENDOR_CLOCK_RULE_H
#define NTK_TESTS_SUPPORT_VENDOR_CLOCK_RULE_H

#include <stddef.h>

/* Fails the test if a record breaks the rule. Returns how many records it checked. */
size_t vendor_clock_rule_check(const char *folder);

#endif
