/* Instruction sets. MULTIVERSION before a function compiles it for baseline x86-64, AVX2 and AVX-512 and lets the loader choose
 * by cpuid, once. Static inline helpers that it calls are compiled along with it. Put it on serial loops; threads go outside. */
#ifndef ORTCORE_BASE_CPU_H
#define ORTCORE_BASE_CPU_H

#include <stdbool.h>

/* Sanitizers instrument the loader's resolver functions, which run before their runtime is ready: they get the baseline. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(ORTCORE_NO_MULTIVERSION) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define FOR_AVX512 __attribute__((target("arch=x86-64-v4")))       /* call it if cpu_has_avx512() */
#else
#define MULTIVERSION
#define FOR_AVX512
#endif

bool cpu_has_avx2(void);
bool cpu_has_avx512(void);
bool cpu_has_vnni(void);                                   /* AVX-512 VNNI */
bool cpu_has_bf16(void);                                   /* AVX-512 BF16 */

#endif
