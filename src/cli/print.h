/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Output for people: colours where standard output is a terminal and NO_COLOR is not set, and tables whose columns are
 * as wide as their widest cell. One thread.
 */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include <stdbool.h>

/* Escape sequences, or "" without colour. */
const char *print_bold(void);
const char *print_dim(void);
const char *print_green(void);
const char *print_red(void);
const char *print_yellow(void);
const char *print_plain(void);

#define PRINT_COLUMNS 10

enum print_align { PRINT_LEFT, PRINT_RIGHT };

struct print_column {
	const char *title; /* NULL ends the list */
	enum print_align align;
};

struct print_table; /* opaque: rows of cells, collected and then printed */

/* NULL when out of memory. `columns` is borrowed until destroy; at most PRINT_COLUMNS. */
struct print_table *print_table_create(const struct print_column *columns);
void print_table_destroy(struct print_table *table);
/*
 * Begins a row; cells fill it from the left. Text is copied; colour is one of the functions above or NULL. A table that
 * runs out of memory prints what it has and says so.
 */
void print_table_row(struct print_table *table);
void print_table_cell(struct print_table *table, const char *colour, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Prints titles and rows to standard output; no line ends in blanks. */
void print_table_out(const struct print_table *table);

#endif
