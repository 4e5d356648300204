/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* GET_FEATURE, SET_FEATURE, GET_STATS. */
#ifndef EFA_DEVICE_FEATURE_H
#define EFA_DEVICE_FEATURE_H

#include <stdint.h>

struct efa_device;
struct efa_command;

uint8_t efa_feature_get(struct efa_device *device, struct efa_command *c);
uint8_t efa_feature_set(struct efa_device *device, struct efa_command *c);
uint8_t efa_feature_stats(struct efa_device *device, struct efa_command *c);

#endif
