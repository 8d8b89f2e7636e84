/* Regular expressions over UTF-8 text, in time proportional to text times pattern whatever either holds: all ways to match advance together.
 *
 * The syntax is RE2's: . [a-z] [^a-z] [[:alpha:]] \d \w \s \D \W \S \b \B ^ $ \A \z \xHH \x{HHHH} \Q...\E, groups ( ), (?: ), (?P<name> ), flags
 * (?i) (?m) (?s), alternation, * + ? {n} {n,} {n,m} and their lazy forms (which match the same texts). Classes and case folding are ASCII.
 * Refused with a reason, as in RE2: back references and look-around; and, unlike in RE2, Unicode classes \p{..} and single bytes \C. */
#ifndef ORTCORE_BASE_REGEX_H
#define ORTCORE_BASE_REGEX_H

#include <ortcore/base/status.h>
#include <ortcore/base/zone.h>

typedef struct regex regex;

/* The regex lives in the zone. Errors name the place in the pattern. */
status regex_compile(const char *pattern, size_t bytes, zone *memory, regex **out) MUST_CHECK;
/* Bytes of working memory that a match needs; any number of threads may match at once, each with its own. */
size_t regex_memory(const regex *r);
bool regex_full_match(const regex *r, const char *text, size_t bytes, void *memory);
/* The leftmost match from `start` on, and the longest of those; false if there is none. */
bool regex_search(const regex *r, const char *text, size_t bytes, size_t start, size_t *out_begin, size_t *out_end, void *memory);

#endif
