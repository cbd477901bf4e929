/* `gpucloud data cp - URL` and `cp URL -`: an object from standard input, or to standard
 * output, for programs that write or read a stream. */
#include <string.h>
#include <unistd.h>

#include "cmd/data_verbs.h"
#include "transfer/pipe.h"

static int check(const struct gpc_cmd *c, const struct gpc_location *l,
	const char *from, const char *to, struct gpc_error *err)
{
	const struct data *o = c->ctx;

	if (gpc_eq(from, "-") && gpc_eq(to, "-"))
		return gpc_fail(err, GPC_EUSAGE, "- to - is what cat is for");
	if (l->path)
		return gpc_fail(err, GPC_EUSAGE, "%s is on this machine: - goes "
			"to or comes from an object", l->word);
	if (gpc_location_says_folder(l) || o->recursive)
		return gpc_fail(err, GPC_EUSAGE, "- is one object, whose key must "
			"be named");
	if (o->shard)
		return gpc_fail(err, GPC_EUSAGE, "--shard divides one folder, "
			"with -r");
	if (gpc_eq(to, "-") && gpc_opt_given(&c->args, "storage-class"))
		return gpc_fail(err, GPC_EUSAGE, "--storage-class is for what is "
			"copied into a bucket");
	if (gpc_eq(to, "-") && c->out.format == GPC_OUT_JSON)
		return gpc_fail(err, GPC_EUSAGE, "stdout is either the object or "
			"JSON");
	return 0;
}

static void show(void *arg, uint64_t bytes)
{
	gpc_progress_bytes(arg, bytes, 0);
}

static int write_out(void *arg, const void *data, size_t n,
	struct gpc_error *err)
{
	return gpc_out_write(arg, data, n, err);
}

static int move(struct gpc_data_run *x, struct gpc_location *l, bool up,
	uint64_t *ret_size, struct gpc_error *err)
{
	const struct gpc_object_options how = {
		.storage_class = x->o->storage_class };
	const struct gpc_pipe_settings set = {
		.net = gpc_transfer_net(x->transfer),
		.ca_file = x->c->ca_file, .cancel = x->c->cancel,
		.log = &x->c->log, .progress = show, .arg = x->progress,
	};

	return up ? gpc_pipe_up(&set, STDIN_FILENO, l->objects, l->key, &how,
		ret_size, err) : gpc_pipe_down(&set, l->objects, l->key,
		write_out, &x->c->out, ret_size, err);
}

static int run(struct gpc_data_run *x, struct gpc_location *l, bool up,
	struct gpc_error *err)
{
	gpc_autostr *name = gpc_location_name(l, NULL);
	uint64_t size = 0;
	int r = 0;

	if (!x->o->dry_run) {
		x->progress = gpc_progress_new(&x->c->talk, "copying", 0);
		r = move(x, l, up, &size, err);
	}
	if (r)
		return gpc_wrap(err, r, "%s", name);
	x->n.files++;
	x->n.bytes += size;
	if (up || x->o->dry_run)
		gpc_data_did(x, up ? "-" : name, up ? name : "-", size);
	return 0;
}

int gpc_data_pipe(struct gpc_cmd *c, const char *from, const char *to,
	struct gpc_error *err)
{
	gpc_auto(gpc_data_run) struct gpc_data_run x = { .c = c, .alone = true,
		.piped = true };
	gpc_auto(gpc_location) struct gpc_location l = {0};
	bool up = gpc_eq(from, "-");
	int r = gpc_data_open(&x, err);

	if (!r)
		r = gpc_data_location(&x, up ? to : from, &l, err);
	if (!r)
		r = check(c, &l, from, to, err);
	if (r)
		return r;
	r = run(&x, &l, up, err);
	return gpc_data_end(&x, r, err);
}
