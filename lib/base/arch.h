/* What machines a program is for. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum gpc_arch { GPC_ARCH_X86_64, GPC_ARCH_ARM64, GPC_ARCH__COUNT };
#define GPC_ARCH_BIT(a) (1u << (a))
extern const char *const gpc_arch_names[];      /* "x86_64", "arm64", NULL */

/* What this program is for; what is none of ours counts as the first. */
enum gpc_arch gpc_arch_self(void);
/* By its name; false: unknown. */
bool gpc_arch_find(const char *name, enum gpc_arch *ret_arch);
/* e_machine of a file's first bytes, of which 20 suffice; 0 when they are no ELF file. */
unsigned gpc_arch_machine(const void *head, size_t n);
/* What such a number is; false: none of ours. */
bool gpc_arch_of_machine(unsigned machine, enum gpc_arch *ret_arch);
