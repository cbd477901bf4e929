"""Some instance types, as DescribeInstanceTypes tells them, with what they cost.

Prices: US dollars an hour, on demand, us-east-1; `family` is what quotas are counted by.
"""
from .xmltext import element

# name: family, vCPUs, MiB, architecture, GPUs, GPU name, MiB a GPU, network, cards, EFA,
# disks, GB a disk, price in millionths
ROWS = """
t3.micro        Standard  2    1024 x86_64  0 -    0      5-Gigabit     1  0 0    0    10400
t3.small        Standard  2    2048 x86_64  0 -    0      5-Gigabit     1  0 0    0    20800
c7i.large       Standard  2    4096 x86_64  0 -    0      12.5-Gigabit  1  0 0    0    89250
m7i.large       Standard  2    8192 x86_64  0 -    0      12.5-Gigabit  1  0 0    0   100800
g4dn.xlarge     G         4   16384 x86_64  1 T4   16384  25-Gigabit    1  0 1  125   526000
g4dn.12xlarge   G        48  196608 x86_64  4 T4   16384  50-Gigabit    1  1 1  900  3912000
g5.xlarge       G         4   16384 x86_64  1 A10G 22888  10-Gigabit    1  0 1  250  1006000
g5.12xlarge     G        48  196608 x86_64  4 A10G 22888  40-Gigabit    1  1 1 3800  5672000
g5.48xlarge     G       192  786432 x86_64  8 A10G 22888  100-Gigabit   1  1 2 3800 16288000
g5g.xlarge      G         4    8192 arm64   1 T4g  16384  10-Gigabit    1  0 0    0   420000
g6.xlarge       G         4   16384 x86_64  1 L4   22888  10-Gigabit    1  0 1  250   804800
p4d.24xlarge    P        96 1179648 x86_64  8 A100 40960  4x-100-Gigabit 4 4 8 1000 21957642
p5.48xlarge     P       192 2097152 x86_64  8 H100 81920  3200-Gigabit 32 32 8 3800 55040000
trn1.2xlarge    Trn       8   32768 x86_64  0 -    0      12.5-Gigabit  1  0 1  474  1343800
"""
# vCPU quotas of Service Quotas, on demand and spot
QUOTAS = {"P": ("L-417A185B", "L-7212CCBC"), "G": ("L-DB2E81BA", "L-3819A6DF"),
          "Standard": ("L-1216C47A", "L-34B43A08"), "Trn": ("L-2C3B7624", "L-6B0D517C")}


class Type:
    def __init__(self, words):
        self.name, self.family = words[:2]
        self.cpus, self.memory = int(words[2]), int(words[3])
        self.arch = words[4]
        self.gpus, self.gpu, self.gpu_memory = int(words[5]), words[6], int(words[7])
        self.network = words[8].replace("-", " ")
        self.cards, self.efa, self.disks, self.disk = (int(w) for w in words[9:13])
        self.micros = int(words[13])

    def quota(self, spot):
        if self.name.startswith("p5") and spot:
            return "L-C4BD4855"
        return QUOTAS[self.family][bool(spot)]

    def spot_micros(self, zone):
        """Zones differ a little; the first is the cheapest."""
        return self.micros * (30 + ord(zone[-1]) - ord("a")) // 100

    def xml(self):
        network = [("networkPerformance", self.network), ("maximumNetworkCards", self.cards),
                   ("efaSupported", "true" if self.efa else "false")]
        if self.efa:
            network.append(element("efaInfo", ("maximumEfaInterfaces", self.efa)))
        classes = ["on-demand", "spot"] + (["capacity-block"] if self.family == "P" else [])
        parts = [("instanceType", self.name), ("currentGeneration", "true"),
                 element("supportedUsageClasses", *[("item", c) for c in classes]),
                 element("processorInfo",
                         element("supportedArchitectures", ("item", self.arch))),
                 element("vCpuInfo", ("defaultVCpus", self.cpus)),
                 element("memoryInfo", ("sizeInMiB", self.memory)),
                 element("networkInfo", *network)]
        if self.gpus:
            maker = "NVIDIA"
            parts.append(element("gpuInfo", element("gpus", element(
                "item", ("name", self.gpu), ("manufacturer", maker), ("count", self.gpus),
                element("memoryInfo", ("sizeInMiB", self.gpu_memory)))),
                ("totalGpuMemoryInMiB", self.gpus * self.gpu_memory)))
        if self.disks:
            parts.append(element("instanceStorageInfo",
                                 ("totalSizeInGB", self.disks * self.disk),
                                 element("disks", element("item", ("count", self.disks),
                                                          ("sizeInGB", self.disk)))))
        return element("item", *parts)


TYPES = {t.name: t for t in (Type(r.split()) for r in ROWS.strip().splitlines())}
