/* Disks and addresses are charged by the second like machines, and like them for a
 * minute at least. Their prices are built in: what AWS lists for gp3 storage without
 * more speed than all have, and for public IPv4 addresses, which cost the same
 * everywhere but in China, where they cost nothing. */
#include "provider/aws_tariff.h"

#include <string.h>

#include "base/str.h"

#define SECOND_MS 1000
#define MINUTE_MS 60000
#define ADDRESS_MICROS 5000     /* an hour */

/* A GB and month. Where none is known, the highest one is counted. */
static const struct { const char *region; int64_t micros; } disks[] = {
	{ "us-east-1", 80000 }, { "us-east-2", 80000 }, { "us-west-1", 96000 },
	{ "us-west-2", 80000 }, { "ca-central-1", 88000 }, { "eu-west-1", 88000 },
	{ "eu-west-2", 92800 }, { "eu-west-3", 92800 }, { "eu-central-1", 95200 },
	{ "eu-north-1", 83600 }, { "ap-northeast-1", 96000 },
	{ "ap-northeast-2", 91200 }, { "ap-southeast-1", 96000 },
	{ "ap-southeast-2", 96000 }, { "ap-south-1", 91200 },
	{ "sa-east-1", 152000 },
};
enum { DISK_MOST = 152000, DISK_MOST_CNY = 746000 };

static int64_t disk_micros(const char *region, const char *currency)
{
	for (size_t i = 0; i < sizeof(disks) / sizeof(*disks); i++)
		if (gpc_eq(disks[i].region, region))
			return disks[i].micros;
	return gpc_eq(currency, "CNY") ? DISK_MOST_CNY : DISK_MOST;
}

void gpc_aws_tariff(const char *region, struct gpc_money machine, int64_t disk_gib,
	bool address, struct gpc_tariff *ret_t)
{
	struct gpc_money m = machine;

	*ret_t = (struct gpc_tariff){ .step_ms = SECOND_MS, .least_ms = MINUTE_MS };
	gpc_tariff_add(ret_t, GPC_TARIFF_MACHINE, machine, GPC_HOUR_MS);
	m.micros = disk_gib * disk_micros(region, machine.currency);
	gpc_tariff_add(ret_t, "disk", m, GPC_MONTH_MS);
	m.micros = ADDRESS_MICROS;
	if (address && gpc_eq(machine.currency, "USD"))
		gpc_tariff_add(ret_t, "address", m, GPC_HOUR_MS);
}
