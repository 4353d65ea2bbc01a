/* SPDX-License-Identifier: MIT */
/*
 * names.h - names of tables and columns, made from names in a trace. SQLite compares names without case (of ASCII), so
 * each name of a set is unique without case.
 */
#ifndef WMK_ANALYZE_QUERY_NAMES_H
#define WMK_ANALYZE_QUERY_NAMES_H

/* Initialized with zeros. */
struct wmk_query_names {
	void *root;                /* a tree of strings */
};

/* A copy with U+FFFD in place of bytes that are not UTF-8. The caller frees it. NULL: no memory. */
char *wmk_query_names_clean(const char *name);
/*
 * Add a name to the set. If the set has the name, or if the name is empty, the name gets the prefix; then it gets the
 * suffix "_2" and so on. Returns the name, which belongs to the set; NULL: no memory.
 */
const char *wmk_query_names_add(struct wmk_query_names *names, const char *name, const char *prefix);
void wmk_query_names_free(struct wmk_query_names *names);

#endif
