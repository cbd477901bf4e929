/* By asking the loader: what a library opens later is seen as well, once it has
 * been opened, which a list of dependencies would miss. */
#define _GNU_SOURCE
#include "base/loaded.h"

#include <elf.h>
#include <link.h>
#include <string.h>

static int note(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	/* The program has no name here, the kernel's page no path. */
	if (info->dlpi_name && info->dlpi_name[0] == '/')
		gpc_strv_add(arg, info->dlpi_name);
	return 0;
}

int gpc_loaded_objects(struct gpc_strv *ret_paths, struct gpc_error *err)
{
	dl_iterate_phdr(note, ret_paths);
	return ret_paths->n > 0 ? 0 : gpc_fail(err, GPC_EUNSUPPORTED,
		"this program has no shared objects");
}

bool gpc_loaded_cut(struct gpc_buf *b)
{
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	uint64_t end = 0;

	if (b->len < sizeof(head))
		return false;
	memcpy(&head, b->data, sizeof(head));
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
		head.e_ident[EI_CLASS] != ELFCLASS64 ||
		head.e_phentsize != sizeof(segment))
		return false;
	for (size_t i = 0; i < head.e_phnum; i++) {
		uint64_t at = head.e_phoff + i * sizeof(segment);

		if (at + sizeof(segment) > b->len)
			return false;
		memcpy(&segment, b->data + at, sizeof(segment));
		if (segment.p_offset + segment.p_filesz > end)
			end = segment.p_offset + segment.p_filesz;
		if (at + sizeof(segment) > end)
			end = at + sizeof(segment);
	}
	if (end >= b->len || head.e_shoff < end)
		return true;            /* laid out in another way: whole */
	head.e_shoff = 0;
	head.e_shnum = head.e_shstrndx = 0;
	memcpy(b->data, &head, sizeof(head));
	b->len = end;
	return true;
}
