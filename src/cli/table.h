/* table.h - columns of text for people, over libsmartcols. */
#ifndef READYFS_CLI_TABLE_H
#define READYFS_CLI_TABLE_H

struct table;

/* A table with these column heads (NULL ends them; borrowed). NULL when out of memory: the calls below then do nothing
 * but say so once at the end. */
struct table *table_new(const char *const *heads);

/* Adds a row of as many texts as there are columns; copied. */
void table_row(struct table *table, const char *const *texts);

/* Prints it on stdout and frees it. */
void table_print(struct table *table);

#endif
