/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Do the adapter's tables agree? References are counted once more, from the objects that hold them. For tests and fuzzing. */
#ifndef EFA_DEVICE_SOUND_H
#define EFA_DEVICE_SOUND_H

struct efa_device;

/* NULL: all is well; else what is not. */
const char *efa_device_unsound(const struct efa_device *device);

#endif
