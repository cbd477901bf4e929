/* What a launch leaves open is looked up once, before its intent is written down. */
#include "provider/aws_launch.h"

#include "base/parse.h"
#include "base/str.h"
#include "base/time.h"
#include "provider/aws_boot.h"
#include "provider/aws_group.h"
#include "provider/aws_place.h"
#include "catalog/types.h"
#include "provider/aws_tariff.h"

#define GIB ((int64_t)1 << 30)

static const char *parameter_of(bool arm, bool gpu)
{
	if (gpu)
		return arm ? "/aws/service/deeplearning/ami/arm64/"
			"base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id" :
			"/aws/service/deeplearning/ami/x86_64/"
			"base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id";
	return arm ? "/aws/service/canonical/ubuntu/server/24.04/stable/current/"
		"arm64/hvm/ebs-gp3/ami-id" :
		"/aws/service/canonical/ubuntu/server/24.04/stable/current/"
		"amd64/hvm/ebs-gp3/ami-id";
}

int gpc_aws_image_published(struct gpc_aws *aws, const char *region, bool arm,
	bool gpu, char **ret_id, struct gpc_error *err)
{
	const char *parameter = parameter_of(arm, gpu);
	gpc_autoptr(gpc_json) *params = gpc_json_object(), *reply = NULL;
	const char *value;
	int r;

	gpc_json_set_str(params, "Name", parameter);
	r = gpc_aws_json(aws, "ssm", region, "AmazonSSM.GetParameter", params,
		&reply, err);
	if (r < 0) {
		if (r == -GPC_ENOTFOUND)
			gpc_hint(err, "%s has no such image: name one by "
				"resources.image_id", region);
		return r;
	}
	value = gpc_json_get_str(gpc_json_get(reply, "Parameter"), "Value");
	if (!gpc_starts_with(value ? value : "", "ami-"))
		return gpc_fail(err, GPC_EPROTO, "%s names no image", parameter);
	*ret_id = gpc_strdup(value);
	return 0;
}

/* Another region may have it, or another one in its place. */
static int fail_absent(const char *image, const char *region, const char *state,
	struct gpc_error *err)
{
	if (state)
		gpc_fail(err, GPC_ENOTFOUND, "image %s in %s is %.40s", image, region,
			state);
	else
		gpc_fail(err, GPC_ENOTFOUND, "there is no image %s in %s, or it is "
			"private and not shared with this account", image, region);
	gpc_hint(err, "images differ by region: name one for each in "
		"resources.image_id, or none");
	return -GPC_ENOTFOUND;
}

/* What can be known of an image before a machine is paid to try it. */
static int check_image(const struct gpc_launch *l, const struct gpc_machine_type *t,
	const char *image, const struct gpc_xml *x, struct gpc_error *err)
{
	const char *region = l->offer.region, *want = gpc_arch_names[t->arch];
	const char *ends = gpc_xml_text(x, "deprecationTime");
	int64_t ends_ms = 0;

	if (!x)
		return fail_absent(image, region, NULL, err);
	if (!gpc_eq(gpc_xml_text(x, "imageState"), "available"))
		return fail_absent(image, region, gpc_xml_text(x, "imageState"), err);
	if (*gpc_xml_text(x, "platform"))
		return gpc_fail(err, GPC_ECONFIG, "image %s is of %.40s, and has no "
			"cloud-init, which starts a node", image,
			gpc_xml_text(x, "platform"));
	if (!*gpc_xml_text(x, "rootDeviceName"))
		return gpc_fail(err, GPC_ECONFIG, "image %s in %s has no disk that "
			"it starts from", image, region);
	if (!gpc_eq(gpc_xml_text(x, "architecture"), want)) {
		gpc_fail(err, GPC_ECONFIG, "image %s is for %.40s, and %s is %s",
			image, gpc_xml_text(x, "architecture"), t->name, want);
		gpc_hint(err, "name an image for %s, or another instance_type",
			want);
		return -GPC_ECONFIG;
	}
	if (*ends && gpc_parse_rfc3339(ends, &ends_ms, NULL) == 0 &&
		ends_ms <= gpc_wall_ms()) {
		gpc_fail(err, GPC_ENOTFOUND, "image %s in %s is deprecated since "
			"%.40s", image, region, ends);
		gpc_hint(err, "name a newer one in resources.image_id, or none");
		return -GPC_ENOTFOUND;
	}
	return 0;
}

/* Whether the image is there and fits the machine, and where its disk hangs. */
static int look_at_image(struct gpc_aws *aws, const struct gpc_launch *l,
	const struct gpc_machine_type *t, const char *image, struct gpc_json *to,
	struct gpc_error *err)
{
	gpc_auto(gpc_pairs) struct gpc_pairs p = {0};
	gpc_autoptr(gpc_xml) *xml = NULL;
	const struct gpc_xml *x, *disk;
	const char *root;
	int64_t gib = 0;
	int r;

	gpc_pairs_add(&p, "ImageId.1", image);
	gpc_pairs_add(&p, "IncludeDeprecated", "true");
	r = gpc_aws_ec2(aws, &(struct gpc_aws_call){ .region = l->offer.region,
		.action = "DescribeImages", .params = &p, .repeatable = true },
		&xml, err);
	x = gpc_xml_get(xml, "imagesSet/item");
	if (r == 0)
		r = check_image(l, t, image, x, err);
	if (r < 0)
		return r;
	root = gpc_xml_text(x, "rootDeviceName");
	disk = gpc_xml_get(x, "blockDeviceMapping/item");
	while (disk && !gpc_eq(gpc_xml_text(disk, "deviceName"), root))
		disk = gpc_xml_again(disk);
	if (disk && gpc_parse_i64(gpc_xml_text(disk, "ebs/volumeSize"), 0,
		1 << 20, "volumeSize", &gib, err) < 0)
		return -GPC_EPROTO;
	gpc_json_set_str(to, "image", image);
	gpc_json_set_str(to, "root", root);
	gpc_json_set_int(to, "image_gib", gib);
	return 0;
}

static int choose_disk(const struct gpc_launch *l, struct gpc_json *to,
	struct gpc_error *err)
{
	int64_t least = gpc_json_get_int(to, "image_gib", 0);
	int64_t asked = (gpc_json_get_int(l->rest, "disk_bytes", 0) + GIB - 1) / GIB;

	if (asked && asked < least)
		return gpc_fail(err, GPC_ECONFIG, "resources.disk_size is %lld GB, "
			"and the image alone needs %lld", (long long)asked,
			(long long)least);
	gpc_json_set_int(to, "disk_gib", asked ? asked :
		least > GPC_AWS_DISK_LEAST_GIB ? least :
		GPC_AWS_DISK_LEAST_GIB);
	return 0;
}

/* Now that disk and network are known. */
static void set_tariff(struct gpc_launch *l, const struct gpc_json *made)
{
	gpc_tariff_clear(&l->offer.tariff);
	gpc_aws_tariff(l->offer.region, l->offer.price,
		gpc_json_get_int(made, "disk_gib", 0),
		!gpc_json_bool_or(gpc_json_get(made, "private"), false),
		&l->offer.tariff);
}

int gpc_aws_launch_prepare(struct gpc_aws *aws, struct gpc_launch *l,
	struct gpc_error *err)
{
	gpc_autoptr(gpc_json) *made = gpc_json_object();
	gpc_autostr *image = NULL, *data = NULL, *group = NULL;
	const char *named = gpc_json_get_str(l->rest, "image");
	struct gpc_machine_type t;
	int r = 0;

	if (!gpc_machine_type_find("aws", l->offer.instance_type, &t))
		return gpc_fail(err, GPC_ECONFIG, "no type of machine is called %s",
			l->offer.instance_type);
	if (named)
		image = gpc_strdup(named);
	else
		r = gpc_aws_image_published(aws, l->offer.region, t.arch == GPC_ARCH_ARM64,
			t.gpus > 0, &image, err);
	if (r == 0)
		r = look_at_image(aws, l, &t, image, made, err);
	if (r == 0)
		r = choose_disk(l, made, err);
	if (r == 0 && gpc_json_get(l->rest, GPC_LAUNCH_GROUP)) {
		group = gpc_aws_group_id(l);
		gpc_json_set_str(l->rest, GPC_LAUNCH_GROUP, group);
	}
	if (r == 0)
		r = gpc_aws_user_data(l, &data, err);
	if (r == 0)     /* last: it may make something */
		r = gpc_aws_place(aws, l, &t, made, err);
	if (r < 0)
		return r;
	gpc_json_set_str(made, "user_data", data);
	set_tariff(l, made);
	gpc_json_set(l->rest, GPC_AWS_REST, gpc_steal(&made));
	return 0;
}
