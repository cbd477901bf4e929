/* The numbers are those of the ELF specification (e_machine); elf.h is not everywhere. */
#include "base/arch.h"

#include <string.h>

#include "base/str.h"

#define HEAD 20                 /* up to e_machine, which is little-endian here */
#ifdef __aarch64__
#define SELF GPC_ARCH_ARM64
#else
#define SELF GPC_ARCH_X86_64
#endif

const char *const gpc_arch_names[] = {
	[GPC_ARCH_X86_64] = "x86_64", [GPC_ARCH_ARM64] = "arm64",
	[GPC_ARCH__COUNT] = NULL,
};
static const unsigned machines[] = {
	[GPC_ARCH_X86_64] = 62, [GPC_ARCH_ARM64] = 183,
};

enum gpc_arch gpc_arch_self(void)
{
	return SELF;
}

bool gpc_arch_find(const char *name, enum gpc_arch *ret_arch)
{
	for (int a = 0; a < GPC_ARCH__COUNT; a++) {
		if (!gpc_eq(name, gpc_arch_names[a]))
			continue;
		*ret_arch = a;
		return true;
	}
	return false;
}

unsigned gpc_arch_machine(const void *head, size_t n)
{
	const unsigned char *p = head;

	if (n < HEAD || memcmp(p, "\177ELF", 4) != 0)
		return 0;
	return p[18] | (unsigned)p[19] << 8;
}

bool gpc_arch_of_machine(unsigned machine, enum gpc_arch *ret_arch)
{
	for (int a = 0; a < GPC_ARCH__COUNT; a++) {
		if (machine != machines[a])
			continue;
		*ret_arch = a;
		return true;
	}
	return false;
}
