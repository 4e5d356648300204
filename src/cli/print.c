/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/print.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_colour(void)
{
	static int known = -1;

	if (known < 0) {
		const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

		known = isatty(STDOUT_FILENO) && (no == NULL || no[0] == '\0') && (term == NULL || strcmp(term, "dumb") != 0);
	}
	return known != 0;
}

const char *print_bold(void)
{
	return has_colour() ? "\033[1m" : "";
}
const char *print_dim(void)
{
	return has_colour() ? "\033[2m" : "";
}
const char *print_green(void)
{
	return has_colour() ? "\033[32m" : "";
}
const char *print_red(void)
{
	return has_colour() ? "\033[31m" : "";
}
const char *print_yellow(void)
{
	return has_colour() ? "\033[33m" : "";
}
const char *print_plain(void)
{
	return has_colour() ? "\033[0m" : "";
}

struct cell {
	char *text;
	const char *colour;
};

struct row {
	struct cell cells[PRINT_COLUMNS];
	unsigned used;
};

struct print_table {
	const struct print_column *columns;
	unsigned column_count;
	struct row *rows;
	size_t count, room;
	bool out_of_memory;
};

struct print_table *print_table_create(const struct print_column *columns)
{
	struct print_table *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return NULL;
	table->columns = columns;
	while (table->column_count < PRINT_COLUMNS && columns[table->column_count].title != NULL)
		table->column_count++;
	return table;
}

void print_table_destroy(struct print_table *table)
{
	if (table == NULL)
		return;
	for (size_t i = 0; i < table->count; i++)
		for (unsigned c = 0; c < table->rows[i].used; c++)
			free(table->rows[i].cells[c].text);
	free(table->rows);
	free(table);
}

void print_table_row(struct print_table *table)
{
	if (table->count == table->room) {
		size_t room = table->room == 0 ? 16 : table->room * 2;
		struct row *rows = realloc(table->rows, room * sizeof(*rows));

		if (rows == NULL) {
			table->out_of_memory = true;
			return;
		}
		table->rows = rows;
		table->room = room;
	}
	memset(&table->rows[table->count++], 0, sizeof(struct row));
}

void print_table_cell(struct print_table *table, const char *colour, const char *format, ...)
{
	if (table->out_of_memory || table->count == 0)
		return;
	struct row *row = &table->rows[table->count - 1];
	if (row->used == table->column_count)
		return;
	va_list args;
	char *text = NULL;

	va_start(args, format);
	int len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0) {
		table->out_of_memory = true;
		return;
	}
	row->cells[row->used++] = (struct cell){text, colour};
}

/* Columns on the screen: bytes that do not continue a UTF-8 sequence. */
static int width_of(const char *text)
{
	int width = 0;

	for (; *text != '\0'; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static void print_cell(const char *text, const char *colour, int width, enum print_align align, bool last)
{
	int pad = width - width_of(text);

	if (align == PRINT_RIGHT)
		printf("%*s", pad, "");
	printf("%s%s%s", colour != NULL ? colour : "", text, colour != NULL && colour[0] != '\0' ? print_plain() : "");
	if (align == PRINT_LEFT && !last)
		printf("%*s", pad, "");
	fputs(last ? "\n" : "  ", stdout);
}

void print_table_out(const struct print_table *table)
{
	int width[PRINT_COLUMNS] = {0};

	for (unsigned c = 0; c < table->column_count; c++)
		width[c] = width_of(table->columns[c].title);
	for (size_t i = 0; i < table->count; i++)
		for (unsigned c = 0; c < table->rows[i].used; c++)
			if (width_of(table->rows[i].cells[c].text) > width[c])
				width[c] = width_of(table->rows[i].cells[c].text);
	for (unsigned c = 0; c < table->column_count; c++)
		print_cell(table->columns[c].title, print_bold(), width[c], table->columns[c].align,
			   c + 1 == table->column_count);
	for (size_t i = 0; i < table->count; i++) {
		const struct row *row = &table->rows[i];

		for (unsigned c = 0; c < row->used; c++)
			print_cell(row->cells[c].text, row->cells[c].colour, width[c], table->columns[c].align,
				   c + 1 == row->used);
		if (row->used == 0)
			fputc('\n', stdout);
	}
	if (table->out_of_memory)
		fputs("softverbs: out of memory; the table is not complete.\n", stderr);
}
