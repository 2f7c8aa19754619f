/* table.c - columns of text. */
#include "cli/table.h"

#include "cli/say.h"

#include <libsmartcols.h>
#include <stdio.h>
#include <string.h>

struct table {
    struct libscols_table *columns;
    size_t count;
    bool broken;
};

struct table *table_new(const char *const *heads)
{
    struct table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    table->columns = scols_new_table();
    table->broken = !table->columns;
    for (; heads[table->count] && !table->broken; table->count++)
        table->broken = !scols_table_new_column(table->columns, heads[table->count], 0, 0);
    return table;
}

void table_row(struct table *table, const char *const *texts)
{
    struct libscols_line *line = table && !table->broken ? scols_table_new_line(table->columns, NULL) : NULL;
    if (!line)
        return;
    for (size_t i = 0; i < table->count; i++)
        table->broken |= scols_line_set_data(line, i, texts[i]) != 0;
}

void table_print(struct table *table)
{
    if (!table || table->broken || scols_print_table(table->columns))
        (void)fprintf(stderr, "readyfs: out of memory for a table\n");
    if (table)
        scols_unref_table(table->columns);
    free(table);
}
