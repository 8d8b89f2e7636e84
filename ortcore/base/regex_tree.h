/* What regex_parse.c makes of a pattern for regex.c: a tree. */
#ifndef ORTCORE_BASE_REGEX_TREE_H
#define ORTCORE_BASE_REGEX_TREE_H

#include <ortcore/base/regex.h>

typedef struct range { uint32_t low, high; } range;

typedef enum node_kind { NODE_EMPTY, NODE_SET, NODE_ASSERT, NODE_CONCAT, NODE_ALTERNATE, NODE_REPEAT } node_kind;

typedef struct tree {
  node_kind kind;
  struct tree *child, *last, *next;                        /* CONCAT, ALTERNATE: children in order; REPEAT: one child */
  int low, high;                                           /* REPEAT; high -1: no limit */
  char what;                                               /* ASSERT: ^ (text begin) $ (text end) [ ] (line begin, end) b B */
  int ranges;                                              /* SET */
  range *set;
} tree;

/* Code points in a set are ranges; the tree lives in the zone. */
status regex_parse(const char *pattern, size_t bytes, zone *memory, tree **out) MUST_CHECK;
/* An error that names the place in the pattern. */
status regex_error(const char *pattern, size_t bytes, size_t at, const char *what) MUST_CHECK;

#endif
