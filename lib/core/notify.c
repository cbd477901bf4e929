/* See notify.h. Occurrences are events of the journal: their numbers are what
 * is remembered, and the state that each carries is what is told. How an item is
 * told is start_item alone: another kind of item begins there. */
#include "core/notify.h"

#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "base/map.h"
#include "base/time.h"
#include "core/cost.h"
#include "core/notify_json.h"
#include "core/supervision.h"
#include "model/hook.h"
#include "record/hooks.h"
#include "record/keys.h"
#include "record/secrets.h"
#include "record/update.h"

extern char **environ;

#define RECORD "notified"
#define RECORD_MAX ((size_t)16 << 10)
#define RETRY_MS 5000
#define MAX_AT_ONCE 16
#define PUT_AT_LEAST 64         /* events without news; reading them costs */

static void news_clear(struct gpc_news *x)
{
	gpc_strv_clear(&x->env);
	free(x->json);
	*x = (struct gpc_news){0};
}

static bool is_telling(const struct gpc_notifier *t)
{
	return t->run.pid > 0 || t->post;
}

void gpc_notify_clear(struct gpc_supervision *sv)
{
	struct gpc_notifier *t = &sv->notifier;

	if (is_telling(t))
		sv->crew->notices--;
	gpc_notice_end(&t->run);
	gpc_notice_post_free(t->post);
	gpc_spec_notify_clear(&t->items);
	news_clear(&t->news);
	free(t->failed);
	*t = (struct gpc_notifier){0};
}

/* --- the record ---------------------------------------------------------------- */

/* One that is damaged counts as none: rather told twice than not at all. */
static int read_record(struct gpc_store *s, const char *job, int64_t *ret_n,
	char **ret_failed, struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autoptr(gpc_json) *j = NULL;
	gpc_key key;
	int r;

	gpc_key_job_file(key, job, RECORD);
	r = gpc_store_get(s, key, RECORD_MAX, &b, err);
	if (r < 0 && r != -GPC_ENOTFOUND && r != -GPC_EPROTO)
		return gpc_wrap(err, r, "%s", key);
	if (r == 0 && gpc_json_parse(gpc_buf_str(&b), b.len, &j, NULL) < 0)
		j = NULL;
	*ret_n = gpc_json_get_int(j, "n", 0);
	*ret_failed = gpc_strdup(gpc_json_get_str(j, "failed"));
	return 0;
}

static int put_record(struct gpc_supervision *sv, struct gpc_error *err)
{
	struct gpc_notifier *t = &sv->notifier;
	gpc_autoptr(gpc_json) *j = gpc_json_object();
	gpc_autostr *text = NULL;
	gpc_key key;
	int r;

	gpc_json_set_int(j, "v", 1);
	gpc_json_set_int(j, "n", t->read_n);
	if (t->failed)
		gpc_json_set_str(j, "failed", t->failed);
	text = gpc_json_print(j);
	gpc_key_job_file(key, sv->job.id, RECORD);
	r = gpc_store_put(sv->session->store, key, text, strlen(text), 0, err);
	if (r == 0)
		t->put_n = t->read_n;
	return gpc_wrap(err, r, "%s", key);
}

char *gpc_notify_failure(struct gpc_session *s, const char *job)
{
	char *failed = NULL;
	int64_t n;

	return read_record(s->store, job, &n, &failed, NULL) < 0 ? NULL : failed;
}

/* --- what happened --------------------------------------------------------------- */

static unsigned kind_of(const struct gpc_event *e, const char **ret_word)
{
	unsigned end = GPC_NOTIFY_END;

	switch (e->type) {
	case GPC_EVENT_PHASE:
		*ret_word = "start";
		return gpc_eq(gpc_json_get_str(e->data, "phase"), "running") ?
			GPC_NOTIFY_START : 0;
	case GPC_EVENT_CHECKPOINT:
		*ret_word = "checkpoint";
		return GPC_NOTIFY_CHECKPOINT;
	case GPC_EVENT_LOST:
		*ret_word = "recovering";
		return GPC_NOTIFY_RECOVERING;
	case GPC_EVENT_ENDED:
		*ret_word = "end";
		if (e->state.status == GPC_JOB_SUCCEEDED)
			end |= GPC_NOTIFY_SUCCESS;
		if (e->state.status == GPC_JOB_FAILED)
			end |= GPC_NOTIFY_FAILURE;
		return end;
	default:
		return 0;
	}
}

static void add_cost(struct gpc_strv *env, const struct gpc_job_state *st)
{
	struct gpc_money spent = gpc_cost_spent(st, gpc_wall_ms());
	char text[GPC_MONEY_SIZE];

	gpc_strv_addf(env, "GPUCLOUD_COST=%s", gpc_money_decimal(spent, text));
	gpc_strv_addf(env, "GPUCLOUD_CURRENCY=%s", spent.currency[0] ?
		spent.currency : "USD");
}

/* The state after a loss has no reason: the job goes on. */
static const char *reason_of(const struct gpc_event *e)
{
	const char *reason = e->type == GPC_EVENT_LOST ?
		gpc_json_get_str(e->data, "reason") :
		gpc_reason_to_str(e->state.reason);

	return reason ? reason : "";
}

static void add_news(struct gpc_strv *env, const struct gpc_supervision *sv,
	const struct gpc_event *e, const char *word)
{
	const struct gpc_job_state *st = &e->state;

	gpc_strv_addf(env, "GPUCLOUD_JOB_ID=%s", sv->job.id);
	gpc_strv_addf(env, "GPUCLOUD_JOB_NAME=%s", sv->job.original_name ?
		sv->job.original_name : sv->job.name);
	gpc_strv_addf(env, "GPUCLOUD_EVENT=%s", word);
	gpc_strv_addf(env, "GPUCLOUD_STATE=%s",
		gpc_job_status_to_str(st->status));
	gpc_strv_addf(env, "GPUCLOUD_REASON=%s", reason_of(e));
	gpc_strv_addf(env, "GPUCLOUD_EXIT_CODE=%d", st->code);
	gpc_strv_addf(env, "GPUCLOUD_ATTEMPT=%d", st->attempt);
	gpc_strv_addf(env, "GPUCLOUD_CHECKPOINT=%s", st->checkpoint ?
		st->checkpoint : "");
	gpc_strv_addf(env, "GPUCLOUD_STORE=%s", sv->session->store->url);
	add_cost(env, st);
}

static unsigned wanted(const struct gpc_notifier *t)
{
	unsigned on = 0;

	gpc_vec_each(x, &t->items)
		on |= x->on;
	return on;
}

static int see_event(void *arg, const struct gpc_event *e)
{
	struct gpc_supervision *sv = arg;
	struct gpc_notifier *t = &sv->notifier;
	const char *word = NULL;
	unsigned what = kind_of(e, &word);

	if (!(what & wanted(t))) {
		t->read_n = e->n;
		return 0;
	}
	t->news.n = e->n;
	t->news.what = what;
	t->news.word = word;
	t->next = 0;
	add_news(&t->news.env, sv, e, word);
	t->news.json = gpc_notice_json(sv, e, word, reason_of(e));
	return 1;
}

/* --- looking --------------------------------------------------------------------- */

/* Who is told as of now. What happened before an update is not told again. */
static int load_items(struct gpc_supervision *sv, struct gpc_error *err)
{
	struct gpc_notifier *t = &sv->notifier;
	const struct gpc_job_state *st = &sv->journal.state;
	int r = 0;

	if (!t->has_items || t->items_n != st->notify_n) {
		gpc_spec_notify_clear(&t->items);
		news_clear(&t->news);
		t->has_items = true;
		t->items_n = st->notify_n;
		r = gpc_update_notify(&sv->spec, st, &t->items, err);
	}
	if (r == 0 && t->items.n && !t->loaded) {
		r = read_record(sv->session->store, sv->job.id, &t->read_n,
			&t->failed, err);
		t->loaded = r == 0;
		t->put_n = t->read_n;
	}
	if (t->read_n < st->notify_n)
		t->read_n = st->notify_n;
	return r;
}

static int find_news(struct gpc_supervision *sv, struct gpc_error *err)
{
	struct gpc_notifier *t = &sv->notifier;
	int r = load_items(sv, err);

	if (r < 0 || !t->items.n || t->news.n ||
		t->read_n >= sv->journal.state.n)
		return r;
	r = gpc_journal_read(sv->session->store, sv->job.id, t->read_n,
		see_event, sv, err);
	if (r == 0 && !t->news.n && t->read_n - t->put_n >= PUT_AT_LEAST &&
		gpc_eq(sv->journal.state.supervisor, sv->id))
		r = put_record(sv, err);
	return r;
}

static bool in_trouble(struct gpc_supervision *sv, int r,
	const struct gpc_error *why)
{
	if (r == 0)
		return false;
	gpc_log(sv->session->log, GPC_WARN, "%s: notify: %s", sv->job.id,
		why->msg);
	sv->notifier.retry_ms = gpc_boot_ms() + RETRY_MS;
	return true;
}

bool gpc_notify_look(struct gpc_supervision *sv)
{
	struct gpc_error why = {0};

	if (is_telling(&sv->notifier) ||
		sv->notifier.retry_ms > gpc_boot_ms())
		return true;
	return in_trouble(sv, find_news(sv, &why), &why) ||
		sv->notifier.news.n > 0;
}

/* --- telling --------------------------------------------------------------------- */

/* Whatever the supervisor's own environment holds under the name of one of the
 * job's secrets stays here. */
static bool may_pass(const struct gpc_supervision *sv, const char *variable)
{
	size_t n = strcspn(variable, "=");

	for (size_t i = 0; i < sv->job.secrets.n; i++) {
		const char *name = sv->job.secrets.v[i];

		if (strlen(name) == n && memcmp(name, variable, n) == 0)
			return false;
	}
	return !gpc_starts_with(variable, "GPUCLOUD_");
}

static void failed(struct gpc_supervision *sv, const char *program,
	const char *why)
{
	struct gpc_notifier *t = &sv->notifier;

	free(t->failed);
	t->failed = gpc_format("%s (%s): %s", program, t->news.word ?
		t->news.word : "", why);
	gpc_log(sv->session->log, GPC_WARN, "%s: notify: %s", sv->job.id,
		t->failed);
}

static void run_command(struct gpc_supervision *sv,
	const struct gpc_spec_notice *x)
{
	struct gpc_notifier *t = &sv->notifier;
	gpc_auto(gpc_strv) struct gpc_strv env = {0};
	struct gpc_error why = {0};

	for (char **e = environ; e && *e; e++) {
		if (may_pass(sv, *e))
			gpc_strv_add(&env, *e);
	}
	for (size_t i = 0; i < t->news.env.n; i++)
		gpc_strv_add(&env, t->news.env.v[i]);
	if (gpc_notice_start(&x->command, &env, &t->run, &why) < 0)
		failed(sv, x->command.v[0], why.msg);
}

/* What the store cannot give now is asked again; false: later. */
static bool post(struct gpc_supervision *sv, const struct gpc_spec_notice *x,
	const char *shown)
{
	struct gpc_notifier *t = &sv->notifier;
	gpc_autostr *key = gpc_format("%s-%lld-%zu", sv->job.id,
		(long long)t->news.n, t->next);
	struct gpc_notice_post_how how = {
		.body = t->news.json, .key = key,
		.ca_file = sv->session->options.ca_file,
	};
	struct gpc_error why = {0};
	char *url = NULL;
	int r = gpc_hook_get(sv->session->store, sv->job.id, x->url, &url, &why);

	if (r < 0 && gpc_code_retryable((enum gpc_code)-r))
		return !in_trouble(sv, r, &why);
	how.url = url;
	if (r == 0)
		r = gpc_notice_post_start(&how, &t->post, &why);
	if (r == -GPC_ENOTFOUND)
		failed(sv, shown, "its address is not in the store any more: "
			"give it again by `gpucloud update --notify`");
	else if (r < 0)
		failed(sv, shown, why.msg);
	if (url)
		gpc_secrets_wipe(url, strlen(url));
	free(url);
	return true;
}

/* False: it has to be tried again. */
static bool start_item(struct gpc_supervision *sv,
	const struct gpc_spec_notice *x)
{
	struct gpc_notifier *t = &sv->notifier;
	gpc_autostr *shown = x->url ? gpc_hook_shown(x->url) :
		gpc_strdup(x->command.v[0]);

	gpc_log(sv->session->log, GPC_VERBOSE, "%s: tells %s to %s", sv->job.id,
		t->news.word, shown);
	if (x->url && !post(sv, x, shown))
		return false;
	if (!x->url)
		run_command(sv, x);
	sv->crew->notices += is_telling(t);
	return true;
}

/* False while it is told. */
static bool look_after_item(struct gpc_supervision *sv)
{
	struct gpc_notifier *t = &sv->notifier;
	gpc_autostr *why = NULL, *shown = NULL;

	if (!is_telling(t))
		return true;
	if (t->post) {
		if (gpc_notice_post_runs(&t->post, &why))
			return false;
		/* It is behind the one that is told. */
		shown = gpc_hook_shown(t->items.v[t->next - 1].url);
	} else {
		if (gpc_notice_runs(&t->run, &why))
			return false;
		shown = gpc_strdup(t->run.program);
	}
	sv->crew->notices--;
	GPC_CRASH("notify.ran");
	if (why)
		failed(sv, shown, why);
	return true;
}

/* False when one of them has to be waited for. */
static bool tell_items(struct gpc_supervision *sv)
{
	struct gpc_notifier *t = &sv->notifier;

	while (t->news.n && t->next < t->items.n) {
		const struct gpc_spec_notice *x = &t->items.v[t->next];

		if (x->on & t->news.what) {
			if (sv->crew->notices >= MAX_AT_ONCE ||
				!start_item(sv, x))
				return false;
		}
		t->next++;
		if (is_telling(t))
			return false;
	}
	return true;
}

bool gpc_notify_step(struct gpc_supervision *sv)
{
	struct gpc_notifier *t = &sv->notifier;
	struct gpc_error why = {0};

	if (!look_after_item(sv) || t->retry_ms > gpc_boot_ms())
		return true;
	for (;;) {
		if (in_trouble(sv, find_news(sv, &why), &why))
			return true;
		if (!t->news.n)
			return false;
		if (!tell_items(sv))
			return true;
		t->read_n = t->news.n;
		if (in_trouble(sv, put_record(sv, &why), &why))
			return true;
		GPC_CRASH("notify.recorded");
		news_clear(&t->news);
	}
}
