#include "provider_cloud.h"

#include "../unit/objects_bed.h"

static struct bed bed;

void cloud_reset(void)
{
	if (!bed.dir)
		bed_start(&bed);
	bed_tell(&bed, "reset", "{}");
}

void cloud_keep_pending(void)
{
	bed_tell(&bed, "settings", "{\"ec2_pending\": 3600}");
}

void cloud_end(void)
{
	if (bed.dir)
		bed_end(&bed);
	bed = (struct bed){0};
}
