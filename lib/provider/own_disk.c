/* Core knows codes, not errno: which ones a disk gives is known here. */
#include "provider/own_disk.h"

#include <errno.h>

int gpc_own_disk_error(int r, struct gpc_error *err)
{
	if (r != -GPC_EIO || !err)
		return r;
	switch (err->sys) {
	case ENOSPC:
	case EDQUOT:
		err->code = GPC_ENOROOM;
		break;
	case EROFS:
	case EACCES:
	case EPERM:
		err->code = GPC_EAUTH;
		break;
	default:
		break;
	}
	return -(int)err->code;
}
