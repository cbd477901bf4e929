/* What can be bought, and what a job asks for. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/arch.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/vec.h"
#include "dep/json.h"
#include "model/tariff.h"

struct gpc_gpu_ask {
	char *name;                         /* canonical, or as written */
	char *vendor;                       /* only without a name, may be NULL */
	double count; int memory_gb; bool memory_at_least;
};
/* Per node. A zero asks for nothing. */
struct gpc_ask {
	double cpus; bool cpus_at_least;
	uint64_t memory_bytes; bool memory_at_least;
	GPC_VEC(struct gpc_gpu_ask) gpus;   /* any of these */
	uint64_t disk_bytes;                /* 0 = no wish */
	char *instance_type, *region, *zone;
	bool spot;
	struct gpc_money max_hourly;
	int num_nodes;
	unsigned archs;                     /* whose bundles there are, by
	                                     * GPC_ARCH_BIT; 0 = this program's */
	unsigned only_archs;                /* no others, by GPC_ARCH_BIT; 0 = no wish */
	int interconnect;                   /* of gpc_interconnects, or a faster one */
	bool rdma;                          /* between nodes */
};
void gpc_ask_clear(struct gpc_ask *a);
GPC_CLEANUP_VALUE(gpc_ask);

struct gpc_offer {
	char *provider, *region, *zone, *instance_type;
	char *market;                       /* "on-demand", "spot", "reserved" */
	char *gpu; int gpus; int gpu_memory_gb;  /* gpu NULL = none */
	double cpus; uint64_t memory_bytes;
	struct gpc_money price;             /* of the machine alone, per hour and node;
	                                     * 0 micros = free */
	struct gpc_tariff tariff;           /* of all that a node costs; no parts =
	                                     * price is all */
	char *price_source; int64_t price_ms; /* where the price is from, and its time */
	char *why_not;                      /* set: does not fit the ask, and why */
	struct gpc_json *rest;
};
/* What connects the GPUs of a machine, slowest first: "none", "pcie", "nvlink",
 * "nvswitch", NULL. */
extern const char *const gpc_interconnects[];
/* In the rest of an offer, where its cloud tells: what connects its GPUs; how its
 * network card writes into another machine's memory ("efa", "none"); Gbit/s. */
#define GPC_OFFER_INTERCONNECT "interconnect"
#define GPC_OFFER_RDMA "rdma"
#define GPC_OFFER_NETWORK "network_gbps"
/* In the rest of an offer: the architecture of its machine, of gpc_arch_names; none:
 * that of this one. */
#define GPC_OFFER_ARCH "arch"
enum gpc_arch gpc_offer_arch(const struct gpc_offer *o);
struct gpc_offers { struct gpc_offer *v; size_t n, cap; };
struct gpc_json *gpc_offer_write(const struct gpc_offer *o);
int gpc_offer_read(const struct gpc_json *j, struct gpc_offer *ret_o,
	struct gpc_error *err) gpc_must_check;
void gpc_offer_clear(struct gpc_offer *o);
GPC_CLEANUP_VALUE(gpc_offer);
void gpc_offers_clear(struct gpc_offers *o);
GPC_CLEANUP_VALUE(gpc_offers);
