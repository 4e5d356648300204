/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RDMACM_PUBLIC makes a definition a public name of librdmacm.so.1; lib/librdmacm.map gives it its version. For this folder. */
#ifndef RDMACM_SYMBOL_H
#define RDMACM_SYMBOL_H

#define RDMACM_PUBLIC __attribute__((visibility("default")))

#endif
