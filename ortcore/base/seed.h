/* The seed of random operators, one for the process. */
#ifndef ORTCORE_BASE_SEED_H
#define ORTCORE_BASE_SEED_H

#include <stdint.h>

void seed_set(int64_t seed);
/* What was set last; before that a number of the process's own, different in each process. */
int64_t seed_get(void);

#endif
