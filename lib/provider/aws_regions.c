/* A remembered region is an empty file of its name: no two writers meet. */
#include "provider/aws_regions.h"

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "net/endpoint_aws.h"

static char *folder(const char *state_dir, enum gpc_aws_memory what)
{
	return gpc_format("%s/aws/%s", state_dir, what == GPC_AWS_OF_GROUPS ?
		"groups" : "regions");
}

static void add(struct gpc_strv *to, const char *region)
{
	if (!gpc_strv_has(to, region))
		gpc_strv_add(to, region);
}

int gpc_aws_regions_read(const char *text, struct gpc_strv *to,
	struct gpc_error *err)
{
	struct gpc_str rest = gpc_str_of(text ? text : ""), part;

	while (gpc_str_split(&rest, ',', &part)) {
		struct gpc_str trimmed = gpc_str_trim(part);
		gpc_autostr *name = gpc_strndup(trimmed.ptr, trimmed.len);
		gpc_autostr *shown = NULL;

		if (!*name)
			continue;
		if (gpc_aws_region_valid(name)) {
			add(to, name);
			continue;
		}
		shown = gpc_str_printable(name, trimmed.len > 60 ? 60 : trimmed.len);
		return gpc_fail(err, GPC_ECONFIG, "aws.regions: \"%s\" is no region "
			"of AWS", shown);
	}
	return 0;
}

int gpc_aws_regions_use(const char *state_dir, enum gpc_aws_memory what,
	const char *region, struct gpc_error *err)
{
	gpc_autostr *dir = folder(state_dir, what);
	gpc_autostr *path = NULL;
	int r;

	if (!gpc_aws_region_valid(region))
		return gpc_fail(err, GPC_ECONFIG, "the offer names no region");
	path = gpc_path_join(dir, region);
	if (access(path, F_OK) == 0)
		return 0;
	r = gpc_mkdirs(dir, 0700, err);
	return r < 0 ? r : gpc_write_file(path, "", 0, 0600, err);
}

int gpc_aws_regions_used(const char *state_dir, enum gpc_aws_memory what,
	struct gpc_strv *to, struct gpc_error *err)
{
	gpc_autostr *dir = folder(state_dir, what);
	const struct dirent *x;
	DIR *d = opendir(dir);

	if (!d)
		return errno == ENOENT ? 0 : gpc_fail_sys(err, errno, "%s", dir);
	while ((x = readdir(d)))
		if (gpc_aws_region_valid(x->d_name))
			add(to, x->d_name);
	closedir(d);
	return 0;
}
