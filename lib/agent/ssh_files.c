/* See ssh_files.h. Everything lies in a folder that only this user may enter, and is
 * named by absolute paths: nothing of the system's own sshd is read. */
#include "agent/ssh_files.h"

#include <string.h>
#include <unistd.h>

#include "agent/env.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"

char *gpc_agent_ssh_config_path(const char *dir)
{
	return gpc_path_join(dir, "sshd_config");
}

char *gpc_agent_ssh_log_path(const char *dir)
{
	return gpc_path_join(dir, "sshd.log");
}

static const char *sftp_server(void)
{
	static const char *const places[] = {
		"/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server",
		"/usr/lib/ssh/sftp-server", "/usr/libexec/sftp-server",
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (access(places[i], X_OK) == 0)
			return places[i];
	return NULL;
}

/* As an argument of a line: sshd knows no way to write a quote within quotes. */
static int add_path(struct gpc_buf *to, const char *keyword, const char *dir,
	const char *name, bool percents, struct gpc_error *err)
{
	gpc_autostr *path = gpc_path_join(dir, name);

	if (strpbrk(path, "\"\\\n"))
		return gpc_fail(err, GPC_EUNSUPPORTED, "sshd takes no path such "
			"as %s", path);
	gpc_buf_addf(to, "%s \"", keyword);
	for (const char *at = path; *at; at++)
		gpc_buf_addf(to, "%s%c", percents && *at == '%' ? "%" : "", *at);
	gpc_buf_adds(to, "\"\n");
	return 0;
}

int gpc_agent_ssh_config(const char *dir, const struct gpc_ssh_fact *fact,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *path = gpc_agent_ssh_config_path(dir);
	gpc_autostr *session = gpc_path_join(dir, "session");
	gpc_autostr *command = gpc_shell_quote(session);
	const char *sftp = sftp_server();
	int r;

	gpc_buf_addf(&b, "ListenAddress %s\nPort %d\n", fact->address, fact->port);
	r = add_path(&b, "HostKey", dir, "host_key", false, err);
	if (r == 0)
		r = add_path(&b, "AuthorizedKeysFile", dir, "keys", true, err);
	if (r < 0)
		return r;
	gpc_buf_addf(&b, "AllowUsers %s\n", fact->user);
	gpc_buf_adds(&b, "PermitRootLogin prohibit-password\n"
		"AuthenticationMethods publickey\nPasswordAuthentication no\n"
		"KbdInteractiveAuthentication no\nUsePAM no\n"
		/* the folder is ours alone, whatever is above it */
		"StrictModes no\nPidFile none\nPrintMotd no\nPrintLastLog no\n"
		"UseDNS no\nX11Forwarding no\nPermitUserRC no\n"
		"PermitUserEnvironment no\nAcceptEnv LANG LC_* TERM COLORTERM\n"
		"ClientAliveInterval 30\nMaxStartups 20\nLogLevel ERROR\n");
	if (sftp)
		gpc_buf_addf(&b, "Subsystem sftp %s\n", sftp);
	gpc_buf_addf(&b, "ForceCommand %s\n", command);
	return gpc_write_file(path, b.data, b.len, 0600, err);
}

int gpc_agent_ssh_keys(const char *dir, const struct gpc_strv *keys,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_autostr *path = gpc_path_join(dir, "keys");

	for (size_t i = 0; i < keys->n; i++)
		gpc_buf_addf(&b, "%s gpucloud\n", keys->v[i]);
	return gpc_write_file(path, b.data, b.len, 0600, err);
}

/* A name that a shell takes for a variable. */
static bool is_name(const char *s)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz_0123456789";

	return *s && (*s < '0' || *s > '9') && !s[strspn(s, letters)];
}

int gpc_agent_ssh_session(const struct gpc_agent *a, const char *dir,
	struct gpc_error *err)
{
	gpc_auto(gpc_buf) struct gpc_buf b = {0};
	gpc_auto(gpc_pairs) struct gpc_pairs env = {0};
	gpc_autostr *path = gpc_path_join(dir, "session");
	gpc_autostr *folder = gpc_shell_quote(a->workdir ? a->workdir : "/");

	gpc_agent_env(a, &env);
	gpc_buf_adds(&b, "#!/bin/sh\n"
		"# What a login of `gpucloud ssh` runs on this node.\n");
	gpc_vec_each(x, &env) {
		gpc_autostr *value = x->value ? gpc_shell_quote(x->value) : NULL;

		if (value && is_name(x->key) &&
			!gpc_pairs_has(&a->secrets, x->key))
			gpc_buf_addf(&b, "export %s=%s\n", x->key, value);
	}
	gpc_buf_addf(&b, "cd %s 2>/dev/null || cd\n"
		"[ -z \"${SSH_ORIGINAL_COMMAND:-}\" ] || "
		"exec bash -c \"$SSH_ORIGINAL_COMMAND\"\nexec bash\n", folder);
	return gpc_write_file(path, b.data, b.len, 0700, err);
}
