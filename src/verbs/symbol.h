/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a function becomes a public name of one of our shared libraries. VERBS_PUBLIC makes it visible to the linker, the library's
 * .map file gives it its version. A name that exists in two versions is defined under its own name for the default one; the
 * older one gets another C name and VERBS_COMPAT. For verbs, efadv and stubs only.
 */
#ifndef VERBS_SYMBOL_H
#define VERBS_SYMBOL_H

#define VERBS_PUBLIC __attribute__((visibility("default")))
/* `function` (a VERBS_PUBLIC definition in this file) is also `name` at the non-default version `version`. */
#define VERBS_COMPAT(function, name, version) __asm__(".symver " #function ", " #name "@" #version)

#endif
