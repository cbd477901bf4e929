/* Runs inputs through a fuzz target without libFuzzer: every file that is named,
 * and every file of every folder that is named, in order of their names. So the
 * corpus is a test of any build. An input that takes a minute ends the run. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

enum { MAX_SECONDS = 60 };

static int run_file(const char *path)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	struct gpc_error err = {0};
	uint8_t *exact;

	if (gpc_read_file(path, (size_t)16 << 20, &b, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	/* without the NUL that a buffer has behind it */
	exact = gpc_grow(NULL, b.len ? b.len : 1, 1);
	if (b.len)
		memcpy(exact, b.data, b.len);
	printf("%s\n", path);
	fflush(stdout);
	alarm(MAX_SECONDS);
	LLVMFuzzerTestOneInput(exact, b.len);
	alarm(0);
	free(exact);
	return 0;
}

static int run_folder(const char *path)
{
	gpc_auto(gpc_strv) struct gpc_strv names = {0};
	DIR *d = opendir(path);
	int bad = 0;

	if (!d) {
		fprintf(stderr, "cannot read %s\n", path);
		return 1;
	}
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.')
			gpc_strv_add(&names, e->d_name);
	closedir(d);
	gpc_strv_sort(&names);
	for (size_t i = 0; i < names.n; i++) {
		gpc_autostr *file = gpc_path_join(path, names.v[i]);

		bad |= run_file(file);
	}
	printf("%zu inputs of %s\n", names.n, path);
	return bad || names.n == 0;
}

int main(int argc, char **argv)
{
	int bad = argc < 2;

	for (int i = 1; i < argc; i++) {
		struct stat st;
		bool is_dir = stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode);

		bad |= is_dir ? run_folder(argv[i]) : run_file(argv[i]);
	}
	return bad;
}
