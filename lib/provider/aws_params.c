/* What a job gets of EC2: one zone, all nodes or none, tags on every resource at
 * launch, no metadata without a token, an encrypted disk that goes with the machine,
 * and a machine that is gone when its system switches itself off. */
#include "provider/aws_params.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "base/encode.h"
#include "provider/aws_launch.h"

#define TOKEN_MAX 64             /* of RunInstances */
#define TOKEN_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" \
	"0123456789-"

/* Where the names go, and with which beginning. */
struct form { struct gpc_pairs *to; const char *prefix; };

static gpc_printf(3, 4) void add(const struct form *f, const char *value,
	const char *fmt, ...)
{
	gpc_autostr *name = NULL, *whole = NULL;
	va_list ap;

	va_start(ap, fmt);
	name = gpc_vformat(fmt, ap);
	va_end(ap);
	whole = gpc_format("%s%s", f->prefix, name);
	gpc_pairs_add(f->to, whole, value);
}

static void add_number(const struct form *f, int64_t value, const char *name)
{
	gpc_autostr *text = gpc_format("%lld", (long long)value);

	add(f, text, "%s", name);
}

char *gpc_aws_tag_value(const char *text)
{
	char *value = gpc_strdup(text);

	for (char *c = value; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("+-=_:/@", *c))
			*c = '_';
	return value;
}

static void add_tags(const struct gpc_launch *l, bool spot,
	const struct form *f)
{
	static const char *const kinds[] = { "instance", "volume",
		"network-interface", "spot-instances-request" };
	size_t n = sizeof(kinds) / sizeof(*kinds) - !spot;

	for (size_t i = 1; i <= n; i++) {
		size_t k = 1;

		add(f, kinds[i - 1], "TagSpecification.%zu.ResourceType", i);
		gpc_vec_each(tag, &l->tags) {
			gpc_autostr *value = gpc_aws_tag_value(tag->value);

			add(f, tag->key, "TagSpecification.%zu.Tag.%zu.Key", i, k);
			add(f, value, "TagSpecification.%zu.Tag.%zu.Value", i,
				k++);
		}
		add(f, "Name", "TagSpecification.%zu.Tag.%zu.Key", i, k);
		add(f, l->name, "TagSpecification.%zu.Tag.%zu.Value", i, k);
	}
}

static void add_market(const struct gpc_launch *l, const struct form *f)
{
	const char *most = gpc_json_get_str(l->rest, "max_hourly");

	if (!gpc_eq(l->offer.market, "spot"))
		return;
	add(f, "spot", "InstanceMarketOptions.MarketType");
	add(f, "one-time", "InstanceMarketOptions.SpotOptions.SpotInstanceType");
	add(f, "terminate", "InstanceMarketOptions.SpotOptions."
		"InstanceInterruptionBehavior");
	if (most)
		add(f, most, "InstanceMarketOptions.SpotOptions.MaxPrice");
}

static void add_disk(const struct gpc_json *made, const struct form *f)
{
	add(f, gpc_json_get_str(made, "root"), "BlockDeviceMapping.1.DeviceName");
	add_number(f, gpc_json_get_int(made, "disk_gib", GPC_AWS_DISK_LEAST_GIB),
		"BlockDeviceMapping.1.Ebs.VolumeSize");
	add(f, "gp3", "BlockDeviceMapping.1.Ebs.VolumeType");
	add(f, "true", "BlockDeviceMapping.1.Ebs.Encrypted");
	add(f, "true", "BlockDeviceMapping.1.Ebs.DeleteOnTermination");
}

int gpc_aws_params_machine(const struct gpc_launch *l, const char *prefix,
	struct gpc_pairs *to, struct gpc_error *err)
{
	const struct gpc_json *made = gpc_json_get(l->rest, GPC_AWS_REST);
	const char *data = gpc_json_get_str(made, "user_data");
	const struct form f = { to, prefix };
	gpc_auto(gpc_buf) struct gpc_buf encoded = {0};

	if (!made || !data || !gpc_json_get_str(made, "image") ||
		!gpc_json_get_str(made, "root"))
		return gpc_fail(err, GPC_ECONFIG, "the launch was not prepared");
	gpc_base64(&encoded, data, strlen(data));
	add(&f, gpc_json_get_str(made, "image"), "ImageId");
	add(&f, l->offer.instance_type, "InstanceType");
	add(&f, gpc_buf_str(&encoded), "UserData");
	add(&f, gpc_json_get_str(l->rest, "profile") ?
		gpc_json_get_str(l->rest, "profile") : GPC_AWS_PROFILE,
		"IamInstanceProfile.Name");
	add(&f, "terminate", "InstanceInitiatedShutdownBehavior");
	add(&f, "required", "MetadataOptions.HttpTokens");
	add(&f, "enabled", "MetadataOptions.HttpEndpoint");
	add(&f, "2", "MetadataOptions.HttpPutResponseHopLimit");
	add_market(l, &f);
	add_disk(made, &f);
	add_tags(l, gpc_eq(l->offer.market, "spot"), &f);
	return 0;
}

int gpc_aws_params_launch(const struct gpc_launch *l, struct gpc_pairs *to,
	struct gpc_error *err)
{
	const struct form f = { to, "" };

	if (!l->token || !*l->token || strlen(l->token) > TOKEN_MAX ||
		strspn(l->token, TOKEN_CHARS) != strlen(l->token) || l->count < 1)
		return gpc_fail(err, GPC_ECONFIG, "bad token \"%s\" or count %d",
			l->token ? l->token : "", l->count);
	if (!l->offer.zone)
		return gpc_fail(err, GPC_ECONFIG, "the launch was not prepared");
	add_number(&f, l->count, "MinCount");
	add_number(&f, l->count, "MaxCount");
	add(&f, l->token, "ClientToken");
	add(&f, l->offer.zone, "Placement.AvailabilityZone");
	return gpc_aws_params_machine(l, "", to, err);
}
