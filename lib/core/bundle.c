/* Which objects to take is asked of the loader after everything that is opened
 * lazily has been used once; a list of dependencies would lack those. */
#include "core/bundle.h"

#include <string.h>

#include "base/arch.h"
#include "base/fd.h"
#include "base/loaded.h"
#include "base/path.h"
#include "base/str.h"
#include "dep/archive.h"
#include "dep/crypto.h"
#include "dep/http.h"
#include "dep/xml.h"

#define FILE_MAX ((size_t)256 << 20)

struct packing {
	struct gpc_archive_writer *w;
	struct gpc_buf *out;
	struct gpc_bundle_facts facts;
};

static int take_out(void *arg, const void *data, size_t n,
	struct gpc_error *err)
{
	gpc_buf_add(arg, data, n);
	return gpc_buf_check(arg, err);
}

static int add(struct packing *p, const char *path, bool program,
	const void *data, size_t n, struct gpc_error *err)
{
	int r = program ? gpc_archive_begin_program(p->w, path, n, err)
		: gpc_archive_begin(p->w, path, n, err);

	if (r == 0)
		r = gpc_archive_write(p->w, data, n, err);
	p->facts.files++;
	p->facts.size_bytes += n;
	return gpc_wrap(err, r, "%s", path);
}

static int add_file(struct packing *p, const char *from, const char *folder,
	const char *name, bool program, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = { .max = FILE_MAX };
	gpc_autostr *path = gpc_path_join(folder, name);
	int r = gpc_read_file(from, FILE_MAX, &b, err);

	if (r < 0)
		return r;
	if (gpc_eq(folder, "bin") && !gpc_loaded_cut(&b))
		return gpc_fail(err, GPC_EUNSUPPORTED, "%s is no program file; "
			"does it run from a bundle already?", from);
	return add(p, path, program, b.data, b.len, err);
}

static bool is_loader(const char *name)
{
	return gpc_starts_with(name, "ld-") || gpc_starts_with(name, "ld.");
}

static int add_objects(struct packing *p, const char **ret_loader,
	struct gpc_strv *paths, struct gpc_error *err)
{
	int r = gpc_loaded_objects(paths, err);

	*ret_loader = NULL;
	if (r == 0)
		gpc_strv_sort(paths);
	for (size_t i = 0; r == 0 && i < paths->n; i++) {
		const char *name = gpc_path_base(paths->v[i]);

		if (is_loader(name))
			*ret_loader = name;
		r = add_file(p, paths->v[i], "lib", name, is_loader(name), err);
	}
	if (r == 0 && !*ret_loader)
		r = gpc_fail(err, GPC_EUNSUPPORTED,
			"the loader of this system has an unknown name");
	return r;
}

/* By the loader of the bundle, with its own libraries first: the image's may be
 * older than what we were built with. No program but the shell is needed. */
static int add_script(struct packing *p, const char *loader,
	struct gpc_error *err)
{
	gpc_autostr *text = gpc_format("#!/bin/sh\n"
		"case $0 in */*) here=${0%%/*} ;; *) here=. ;; esac\n"
		"case $here in /*) ;; *) here=$PWD/$here ;; esac\n"
		"export GPUCLOUD_CA_BUNDLE=\"$here/etc/ca-certificates.crt\"\n"
		"exec \"$here/lib/%s\" --library-path \"$here/lib\" "
		"\"$here/bin/gpucloud\" \"$@\"\n", loader);

	return add(p, "gpucloud", true, text, strlen(text), err);
}

/* One use of each library that is opened at its first one. */
static int use_all(char ret_hex[GPC_SHA256_HEX], struct gpc_error *err)
{
	static const struct gpc_http_settings settings = {0};
	gpc_autoptr(gpc_http) *http = NULL;
	gpc_autoptr(gpc_xml) *xml = NULL;
	int r = gpc_http_new(&settings, &http, err);

	gpc_sha256_hex("", 0, ret_hex);
	return r < 0 ? r : gpc_xml_parse("<a/>", 4, &xml, err);
}

static int add_certificates(struct packing *p, struct gpc_error *err)
{
	gpc_autostr *from = gpc_http_ca_file();

	return from ? add_file(p, from, "etc", "ca-certificates.crt", false, err)
		: 0;
}

static int add_about(struct packing *p, struct gpc_error *err)
{
	gpc_autostr *text = gpc_format("gpucloud " GPC_VERSION " %s\n",
		gpc_arch_names[gpc_arch_self()]);

	return add(p, GPC_BUNDLE_ABOUT, false, text, strlen(text), err);
}

static int pack(struct packing *p, const char *self_path,
	struct gpc_error *err)
{
	gpc_auto(gpc_strv) struct gpc_strv paths = {0};
	const char *loader;
	int r = gpc_tar_gz_writer_new(take_out, p->out, &p->w, err);

	/* libarchive is in use; this brings in the others. */
	if (r == 0)
		r = use_all(p->facts.sha256, err);
	if (r == 0)
		r = add_about(p, err);
	if (r == 0)
		r = add_file(p, self_path, "bin", "gpucloud", true, err);
	if (r == 0)
		r = add_objects(p, &loader, &paths, err);
	if (r == 0)
		r = add_certificates(p, err);
	if (r == 0)
		r = add_script(p, loader, err);
	return r < 0 ? r : gpc_archive_finish(p->w, err);
}

int gpc_bundle_write(const char *self_path, const char *out_path,
	struct gpc_bundle_facts *ret_facts, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf out = { .max = FILE_MAX };
	struct packing p = { .out = &out };
	int r = pack(&p, self_path, err);

	gpc_archive_writer_free(p.w);
	if (r == 0)
		r = gpc_write_file(out_path, out.data, out.len, 0644, err);
	if (r < 0)
		return gpc_wrap(err, r, "bundle");
	p.facts.packed_bytes = out.len;
	gpc_sha256_hex(out.data, out.len, p.facts.sha256);
	*ret_facts = p.facts;
	return 0;
}
