#include "catalog/accelerators.h"

#include "base/str.h"
#include "catalog/row.h"

#define X(line) line,
static const char rows[][112] = {
#include "catalog/accelerators.inc"
};
#undef X
enum { N_ROWS = sizeof(rows) / sizeof(*rows) };
enum { NAME, ARCHITECTURE, FP32_RATE, TF32_RATE, HALF_RATE, FP8_RATE, INT8_RATE, HAS_TF32,
	HAS_BF16, HAS_FP16, HAS_FP8, HAS_INT8 };

const char *const gpc_precision_names[] = {
	"fp32", "tf32", "bf16", "fp16", "fp8", "int8", NULL,
};
/* Where the table says whether, and how fast. */
static const struct { int has, rate; } columns[GPC_PRECISION__COUNT] = {
	[GPC_FP32] = { -1, FP32_RATE },
	[GPC_TF32] = { HAS_TF32, TF32_RATE },
	[GPC_BF16] = { HAS_BF16, HALF_RATE },
	[GPC_FP16] = { HAS_FP16, HALF_RATE },
	[GPC_FP8] = { HAS_FP8, FP8_RATE },
	[GPC_INT8] = { HAS_INT8, INT8_RATE },
};

static void read_row(const struct gpc_row *r, struct gpc_accelerator *a)
{
	*a = (struct gpc_accelerator){0};
	GPC_ROW_TAKE(a->name, r, NAME);
	GPC_ROW_TAKE(a->architecture, r, ARCHITECTURE);
	for (int p = 0; p < GPC_PRECISION__COUNT; p++) {
		a->can[p] = columns[p].has < 0 || gpc_row_number(r, columns[p].has) > 0;
		if (a->can[p])
			a->tflops[p] = gpc_row_number(r, columns[p].rate);
	}
}

bool gpc_accelerator_find(const char *name, struct gpc_accelerator *ret_a)
{
	gpc_autostr *start = gpc_format("%s,", name ? name : "");

	for (size_t i = 0; i < N_ROWS; i++) {
		struct gpc_row r;

		if (!gpc_starts_with(rows[i], start))
			continue;
		gpc_row_split(rows[i], &r);
		read_row(&r, ret_a);
		return true;
	}
	return false;
}
