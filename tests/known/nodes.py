"""Nodes of known answers: those that tests/nodes lacks, with round or published figures.

GB is 10^9 bytes. All figures are invented but for those whose source is named.
"""
import itertools
import json
import pathlib
import shutil
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(TESTS / "lib"), str(TESTS / "bench")]
from built_node import Built  # noqa: E402
from hive_node import Hives  # noqa: E402
from virtual_node import measured  # noqa: E402

GB, GIB, MIB = 1e9, 1 << 30, 1 << 20
PEER, HOST = "gpu_gpu_copy_engine", "host_gpu_copy_engine"


def both(metric, start, end, rate, back=None, **axes):
    """The same value in both directions."""
    return [(metric, start, end, rate, axes), (metric, end, start, back or rate, axes)]


def peers(rates, *, metric=PEER, **axes):
    """Values of pairs of GPUs, both ways: {(0, 1): GB/s}."""
    return sum((both(metric, f"gpu{a}", f"gpu{b}", rate * GB, **axes)
                for (a, b), rate in rates.items()), [])


def hosts(rate, gpus, numa_of):
    """Copies between each GPU and its NUMA node, both ways, in GB/s."""
    return sum((both(HOST, f"numa{numa_of(gpu)}", f"gpu{gpu}", rate * GB) for gpu in gpus), [])


# ALCF Polaris: one EPYC with four NUMA nodes; GPUs 0-3 are near NUMA nodes 3-0, NICs near GPU 3, 1.
POLARIS = Built([{"cores": 8, "package": 0, "ports": [["gpu"], ["nic"]]},
                 {"cores": 8, "package": 0, "ports": [["gpu"]]},
                 {"cores": 8, "package": 0, "ports": [["gpu"], ["nic"]]},
                 {"cores": 8, "package": 0, "ports": [["gpu"]]}], bus=[0xc7, 0x85, 0x46, 0x07],
                links=[(f"gpu{a}", f"gpu{b}", "nvlink", 100.0)
                       for a, b in itertools.combinations(range(4), 2)])

# LUMI-C: two EPYC with four NUMA nodes each, two L3 of eight cores in each of these.
LUMI_C = Built([{"cores": 16, "l3": 8, "package": number // 4} for number in range(8)],
               distance=[[10 if a == b else 12 if a // 4 == b // 4 else 32 for b in range(8)]
                         for a in range(8)])


def zen(same_ns, other_ns, same_queue=None, other_queue=None, l3s=2):
    """L3s of four cores with measured round trips, and rates of a queue in bytes/s."""
    values = []
    for a, b in itertools.permutations(range(4 * l3s), 2):
        is_same = a // 4 == b // 4
        ends = (f"core{a}", f"core{b}")
        values.append(("cpu_pingpong", *ends, same_ns if is_same else other_ns))
        if same_queue:
            values.append(("cpu_queue", *ends, same_queue if is_same else other_queue))
            values.append(("cpu_copy", *ends, 14.7 * GIB))
    return Built([{"cores": 4 * l3s, "l3": 4}], values=values)


# The judge's Zen node: 48 ns in an L3, 197 across.
ZEN = zen(48, 197)
# A Ryzen 7 3800X (dpzmick.com): medians of the recorded round trips and of its reader's queue.
ZEN2 = zen(96.8, 194.1, 14.3 * GIB, 10.4 * GIB)

# Eight GPUs, two behind each of four PCIe ports, two ports a package; each link states 16 GB/s.
DGX2_PORTS = Built([{"cores": 8, "ports": [["gpu", "gpu"], ["gpu", "gpu"]]} for _ in range(2)])
# Eight GPUs on root ports of their own, four at each of two packages.
OWN_PORTS = Built([{"cores": 8, "ports": [["gpu"]] * 4} for _ in range(2)])

# Two hives of four GPUs by xGMI. Two copies over PCIe into gpu2 get 13 GB/s each, one 24 alone.
IN_HIVE = {(a, b): 37.5 if a // 4 == b // 4 else 24.0
           for a, b in itertools.combinations(range(8), 2)}
MI210_HIVES = Built([{"cores": 8, "ports": [["gpu"]] * 4} for _ in range(2)],
                    links=[(f"gpu{a}", f"gpu{b}", "xgmi", 50.0) for a, b in IN_HIVE
                           if a // 4 == b // 4],
                    values=peers(IN_HIVE) + hosts(26, range(8), lambda gpu: gpu // 4),
                    sets=[(PEER + "_concurrent", [("gpu4", "gpu2", 13 * GB),
                                                  ("gpu5", "gpu2", 13 * GB)])])

# Four GPUs with NVLink bridges between 0 and 2, and 1 and 3; other pairs copy over PCIe.
BRIDGES = Built([{"cores": 8, "ports": [["gpu"]] * 2} for _ in range(2)],
                links=[("gpu0", "gpu2", "nvlink", 50.0), ("gpu1", "gpu3", "nvlink", 50.0)],
                values=peers({pair: 40 if pair in ((0, 2), (1, 3)) else 10
                              for pair in itertools.combinations(range(4), 2)}))

# StarPU's measured buses of Inria's "sirocco" (tools/perfmodels/sampling/bus), MB/s as it has them.
SIROCCO_PEERS = {(0, 1): 10244.09, (0, 2): 7662.719, (0, 3): 8527.736, (1, 0): 10240.68,
                 (1, 2): 7630.37, (1, 3): 8542.254, (2, 0): 8504.225, (2, 1): 8517.476,
                 (2, 3): 10232.0, (3, 0): 8496.221, (3, 1): 8514.24, (3, 2): 10242.87}
SIROCCO = Built([{"cores": 12, "l3": 12, "ports": [["gpu"]] * 2} for _ in range(2)],
                values=[(PEER, f"gpu{a}", f"gpu{b}", rate * 1e6)
                        for (a, b), rate in SIROCCO_PEERS.items()]
                + hosts(10.52, range(4), lambda gpu: gpu // 2))

# Two GPUs, two-way copies of gpu0 with its memory measured: 51.2 GB/s both ways, 28.3 one way.
BOTH_WAYS = Built([{"cores": 8, "ports": [["gpu"]]} for _ in range(2)],
                  values=hosts(28.3, range(2), lambda gpu: gpu)
                  + [(HOST, f"numa{g}", f"gpu{g}", 51.2 * GB, {"direction": "both"})
                     for g in range(2)]
                  + [(HOST, f"gpu{g}", f"numa{g}", 51.2 * GB, {"direction": "both"})
                     for g in range(2)])

# Two packages, each with two GPUs and a NIC; nothing measured.
TWO_NICS = Built([{"cores": 8, "ports": [["gpu"], ["gpu"], ["nic"]]} for _ in range(2)])

# Two NUMA nodes without GPUs: 100 GB/s near and 40 far for all eight cores, 20 and 15 for one.
SOCKETS = Built([{"cores": 8, "l3": 8} for _ in range(2)], distance=[[10, 21], [21, 10]],
                values=[("memory_bandwidth", f"numa{a}", f"numa{b}", rate * GB,
                         {"operation": operation, "threads": threads})
                        for a, b in itertools.product(range(2), repeat=2)
                        for operation in ("read", "write", "copy")
                        for threads, rate in (("1", 20 if a == b else 15),
                                              ("4", 60 if a == b else 38),
                                              ("all", 100 if a == b else 40))]
                + [("memory_latency", f"numa{a}", f"numa{b}", 100 if a == b else 200)
                   for a, b in itertools.product(range(2), repeat=2)])

# Two hives of four GPUs that only packages join, as 8 MI100; two packages of three, as POWER9.
MI100_HIVES = Hives([4, 4])
V100_POWER9 = Hives([3, 3], kind="nvlink", straight=46e9, host=50e9, copy=44e9, through=30e9,
                    up=45e9, down=45e9, cross=42e9)

# A DGX-1V's NVLinks (nvidia-smi topo -m): pairs with two and with one; others go over PCIe.
DGX1_WIDE = [[0, 3], [0, 4], [1, 2], [1, 5], [2, 3], [4, 7], [5, 6], [6, 7]]
DGX1_NARROW = [[0, 1], [0, 2], [1, 3], [2, 6], [3, 7], [4, 5], [4, 6], [5, 7]]
DGX1 = Built([{"cores": 8, "ports": [["gpu"]] * 4} for _ in range(2)],
             links=[(f"gpu{a}", f"gpu{b}", "nvlink", rate) for pairs, rate in
                    ((DGX1_WIDE, 50.0), (DGX1_NARROW, 25.0)) for a, b in pairs],
             values=peers({(a, b): 48 if [a, b] in DGX1_WIDE else 24 if [a, b] in DGX1_NARROW
                           else 9 for a, b in itertools.combinations(range(8), 2)}))

# A Xeon Phi with 68 cores in SNC4 mode: two NUMA nodes of 18 cores and two of 16.
KNL_SNC4 = Built([{"cores": cores, "package": 0} for cores in (18, 18, 16, 16)])


def line(metric, start, end, rate, queue_ns, call_ns, axes=None, kind=None):
    """A straight curve: start-up times as queued and as a caller sees them, and one rate in GB/s.
    """
    axes, kind = axes or {}, kind or {}
    sizes = [4 ** power << 12 for power in range(9)]
    return ([(metric, start, end, rate * GB, axes)]
            + [(metric, start, end, size / (queue_ns + size / rate) * GB,
                {**axes, "bytes": str(size)}) for size in sizes]
            + [("transfer_overhead", start, end, time_ns, {**kind, "metric": metric, **clock})
               for time_ns, clock in ((call_ns, {}), (queue_ns, {"clock": "queue"}))])


ENGINE = {"direction": "write", "sdma": "on"}
HOST_KIND = {"direction": "one", "kind": "pinned", "sdma": "on", "xnack": "off"}
KERNEL = {"direction": "one", "operation": "copy"}
ONE_PACKAGE = [{"cores": 8, "ports": [["gpu"]] * 2}]
TWO_PACKAGES = [{"cores": 8, "ports": [["gpu"]]}, {"cores": 8, "ports": [["gpu"]]}]
NVLINK_01 = [("gpu0", "gpu1", "nvlink", 50.0)]

# Two GPUs: engines start in 10 us and get 40 GB/s, kernels start in 5 us and get 20 GB/s.
ENGINE_OR_KERNEL = Built(ONE_PACKAGE, links=NVLINK_01, values=sum(
    (line(PEER, *ends, 40, 4000, 10000, kind=ENGINE)
     + line("gpu_gpu_kernel", *ends, 20, 2000, 5000, kind=KERNEL)
     for ends in (("gpu0", "gpu1"), ("gpu1", "gpu0"))), []))
# The other way round: kernels get 40 GB/s, engines 20.
KERNEL_FASTER = Built(ONE_PACKAGE, links=NVLINK_01, values=sum(
    (line(PEER, *ends, 20, 4000, 10000, kind=ENGINE)
     + line("gpu_gpu_kernel", *ends, 40, 2000, 5000, kind=KERNEL)
     for ends in (("gpu0", "gpu1"), ("gpu1", "gpu0"))), []))
# Copies that the source drives get 40 GB/s, those that the target drives 45.
READ_OR_WRITE = Built(ONE_PACKAGE, links=NVLINK_01, values=peers({(0, 1): 40})
                      + peers({(0, 1): 45}, direction="read"))


def staged(together):
    """Two GPUs at two packages: 6 GB/s directly, 25 to and from memory; both hops together."""
    ends = [("gpu0", "numa0"), ("numa0", "gpu1"), ("gpu1", "numa0"), ("numa0", "gpu0")]
    return Built(TWO_PACKAGES, values=peers({(0, 1): 6}) + [(HOST, *some, 25 * GB) for some in ends]
                 + [(HOST, start.replace("numa0", "numa1"), end.replace("numa0", "numa1"), 25 * GB)
                    for start, end in ends],
                 sets=[(HOST + "_concurrent", [(*some, rate * GB) for some in pair])
                       for pair in (ends[:2], ends[2:]) for rate in together])


STAGED, STAGED_APART = staged([25]), staged([])

# Three GPUs of a DGX-1: 0-1 and 1-2 by NVLink with 48 GB/s, at once too; 0-2 over PCIe with 9.
CORNER = Built([{"cores": 8, "ports": [["gpu"]] * 3}],
               links=[("gpu0", "gpu1", "nvlink", 50.0), ("gpu1", "gpu2", "nvlink", 50.0)],
               values=peers({(0, 1): 48, (1, 2): 48, (0, 2): 9}),
               sets=[(PEER + "_concurrent", [("gpu0", "gpu1", 48 * GB),
                                             ("gpu1", "gpu2", 48 * GB)])])


def triangle(*rates):
    """Three GPUs with 40 GB/s between each two; rates of 0-1, 0-2, 2-1 at once if measured."""
    ends = [("gpu0", "gpu1"), ("gpu0", "gpu2"), ("gpu2", "gpu1")]
    return Built([{"cores": 8, "ports": [["gpu"]] * 3}],
                 links=[(f"gpu{a}", f"gpu{b}", "nvlink", 50.0)
                        for a, b in itertools.combinations(range(3), 2)],
                 values=peers({pair: 40 for pair in itertools.combinations(range(3), 2)}),
                 sets=[(PEER + "_concurrent", [(*some, rate * GB)
                                               for some, rate in zip(ends, rates)])] * bool(rates))


TRIANGLE, TRIANGLE_NARROW, TRIANGLE_APART = triangle(40, 40, 40), triangle(30, 30, 30), triangle()


def two_ports(together):
    """Two GPUs with 25 GB/s from memory each, 200 between them; rate of both at once."""
    ends = [("numa0", "gpu0"), ("numa0", "gpu1")]
    return Built(ONE_PACKAGE, links=[("gpu0", "gpu1", "nvlink", 250.0)],
                 values=peers({(0, 1): 200}) + hosts(25, range(2), lambda gpu: 0),
                 sets=[(HOST + "_concurrent", [(*some, rate * GB) for some in ends])
                       for rate in together])


TWO_PORTS, TWO_PORTS_NARROW, TWO_PORTS_APART = two_ports([25]), two_ports([12.5]), two_ports([])

# Three GPUs at one memory: one and two copies from it get 25 GB/s each, three 20 each.
THREE_READERS = Built([{"cores": 8, "ports": [["gpu"]] * 3}],
                      values=hosts(25, range(3), lambda gpu: 0),
                      sets=[(HOST + "_concurrent", [("numa0", f"gpu{g}", rate * GB) for g in some])
                            for some, rate in (((0, 1), 25), ((0, 2), 25), ((1, 2), 25),
                                               ((0, 1, 2), 20))])

# Links and nothing measured; the link of 0-1 is down.
LINKS = Built([{"cores": 8, "ports": [["gpu"]] * 3}],
              links=[("gpu0", "gpu1", "nvlink", 100.0), ("gpu0", "gpu2", "nvlink", 100.0)])
DOWN = Built([{"cores": 8, "ports": [["gpu"]] * 3}],
             links=[("gpu0", "gpu1", "nvlink", 100.0), ("gpu0", "gpu2", "nvlink", 100.0),
                    ("gpu1", "gpu2", "nvlink", 100.0)], down=[("gpu0", "gpu1")],
             values=peers({(0, 2): 80, (1, 2): 80}),
             sets=[(PEER + "_concurrent", [("gpu0", "gpu2", 80 * GB), ("gpu2", "gpu1", 80 * GB)])])

# The corner of a DGX-1 with start-up times: any copy costs a caller 8 us, 4 when queued.
CORNER_STARTS = Built([{"cores": 8, "ports": [["gpu"]] * 3}],
                      links=[("gpu0", "gpu1", "nvlink", 50.0), ("gpu1", "gpu2", "nvlink", 50.0)],
                      values=sum((line(PEER, f"gpu{a}", f"gpu{b}", 9 if a + b == 2 else 48, 4000,
                                       8000, kind=ENGINE)
                                  for a, b in itertools.permutations(range(3), 2)), []),
                      sets=[(PEER + "_concurrent", [("gpu0", "gpu1", 48 * GB),
                                                    ("gpu1", "gpu2", 48 * GB)])])


def memory(place, target, *, read, write=None, **threads):
    """Rates of cores: reading, writing and copying; threads: t1=GB/s and so on."""
    values = []
    for operation in ("read", "write", "copy"):
        rate = write if write and operation == "write" else read
        values.append(("memory_bandwidth", place, target, rate * GB, {"operation": operation}))
        values += [("memory_bandwidth", place, target, some * GB,
                    {"operation": operation, "threads": count[1:]})
                   for count, some in threads.items()]
    return values


# A Xeon Phi in flat mode: cores, DDR, and MCDRAM as a NUMA node without cores.
KNL_FLAT = Built([{"cores": 16, "package": 0}, {"cores": 0, "package": 0, "gib": 16}],
                 distance=[[10, 31], [31, 10]],
                 values=memory("numa0", "numa0", read=80, t1=12)
                 + memory("numa0", "numa1", read=320, t1=10)
                 + [("memory_latency", "numa0", "numa0", 130),
                    ("memory_latency", "numa0", "numa1", 150)])

# Two sockets, and persistent memory at the first, which is read faster than the far socket's memory
# and written slower.
PERSISTENT = Built([{"cores": 8}, {"cores": 8}, {"cores": 0, "package": 0, "gib": 512}],
                   distance=[[10, 21, 17], [21, 10, 28], [17, 28, 10]],
                   values=memory("numa0", "numa0", read=100)
                   + memory("numa0", "numa1", read=30, write=30)
                   + memory("numa0", "numa2", read=39, write=13)
                   + [("memory_latency", "numa0", f"numa{n}", ns)
                      for n, ns in enumerate((81, 140, 305))])

# Two GPUs with memory of their own: 1000 GB/s there, 40 from the other's, 25 and 15 from the host.
DISCRETE_VALUES = (
    memory("numa0", "numa0", read=100) + memory("numa1", "numa1", read=100)
    + memory("numa0", "numa1", read=40) + memory("numa1", "numa0", read=40)
    + [("memory_latency", f"numa{a}", f"numa{b}", 100 if a == b else 200)
       for a, b in itertools.product(range(2), repeat=2)]
    + [("memory_bandwidth", f"gpu{g}", f"gpu{g}", 1000 * GB, {"operation": operation})
       for g in range(2) for operation in ("read", "write", "copy")]
    + [("gpu_gpu_kernel", f"gpu{a}", f"gpu{b}", 40 * GB, {"operation": operation})
       for a, b in ((0, 1), (1, 0)) for operation in ("read", "write", "copy", "pull")]
    + sum((both("host_gpu_kernel", f"numa{n}", f"gpu{g}", (25 if n == g else 15) * GB,
                operation=operation)
           for n, g in itertools.product(range(2), repeat=2)
           for operation in ("read", "write", "copy")), []))
DISCRETE = Built(TWO_PACKAGES, links=NVLINK_01, values=DISCRETE_VALUES)

# The same with the costs of getting memory, and the rates of memory of malloc and of migration.
PRICED = Built(TWO_PACKAGES, links=NVLINK_01, values=DISCRETE_VALUES + [
    ("allocation", "gpu0", f"numa{n}", rate * GB, axes) for n in range(2)
    for rate, axes in ((2, {}), (1, {"kind": "pinned"}))] + [
    ("host_gpu_kernel", f"numa{n}", "gpu0", rate * GB, {"operation": operation, "kind": kind})
    for n in range(2) for operation in ("read", "copy")
    for rate, kind in ((0.5, "system"), (5, "migrating"))])

# A socket whose cores need 12 ns for a line of 8 MiB, and 100 for one in memory.
CACHED = Built([{"cores": 8}], values=memory("numa0", "numa0", read=100, t1=20) + [
    ("memory_latency", "numa0", "numa0", ns, axes)
    for ns, axes in ((100, {}), (100, {"bytes": "1073741824"}), (12, {"bytes": "8388608"}))])


def three_and_one(last):
    """Three GPUs at one memory, where three copies either way get 20 GB/s each and fewer 25; a
    fourth GPU at the other, with this rate.
    """
    copies = hosts(25, range(3), lambda gpu: 0) + hosts(last, [3], lambda gpu: 1)
    sets = []
    for back in (False, True):
        for some, rate in (((0, 1), 25), ((0, 2), 25), ((1, 2), 25), ((0, 1, 2), 20)):
            ends = [("numa0", f"gpu{gpu}") for gpu in some]
            sets.append((HOST + "_concurrent", [(*(end[::-1] if back else end), rate * GB)
                                                for end in ends]))
    both_ways = [(HOST, *end, 2 * (last if gpu == 3 else 25) * GB, {"direction": "both"})
                 for gpu in range(4) for end in ((f"numa{gpu // 3}", f"gpu{gpu}"),
                                                 (f"gpu{gpu}", f"numa{gpu // 3}"))]
    return Built([{"cores": 8, "ports": [["gpu"]] * 3}, {"cores": 8, "ports": [["gpu"]]}],
                 values=copies + both_ways, sets=sets)


FOURTH_FASTER, FOURTH_SLOWER = three_and_one(22), three_and_one(18)

# A GPU at package 0 whose copies with the memory of package 1 are faster, as measured.
FAR_IS_FASTER = Built([{"cores": 8, "ports": [["gpu"]]}, {"cores": 8}],
                      values=both(HOST, "numa0", "gpu0", 10 * GB)
                      + both(HOST, "numa1", "gpu0", 25 * GB))

# An engine measured at 20 GB/s over a link that states 100; nothing of kernels.
ENGINE_ALONE = Built(ONE_PACKAGE, links=[("gpu0", "gpu1", "nvlink", 100.0)],
                     values=peers({(0, 1): 20}))
# Engines measured at 20 GB/s and published at 30; kernels published at 25.
PUBLISHED_TOO = Built(ONE_PACKAGE, links=NVLINK_01, values=peers({(0, 1): 20}),
                      published=peers({(0, 1): 30}) + peers({(0, 1): 25}, metric="gpu_gpu_kernel"))
# Only the way back was measured, 30 GB/s; only other pairs were measured, 40 GB/s.
WAY_BACK = Built(ONE_PACKAGE, links=NVLINK_01, values=[(PEER, "gpu1", "gpu0", 30 * GB)])
OTHER_PAIRS = Built([{"cores": 8, "ports": [["gpu"]] * 4}],
                    links=[(f"gpu{a}", f"gpu{b}", "nvlink", 50.0)
                           for a, b in itertools.combinations(range(4), 2)],
                    values=peers({pair: 40 for pair in itertools.combinations(range(4), 2)
                                  if pair != (0, 1)}))

# Two ports as above, with 10 us for a call and 4 when queued.
TWO_PORTS_STARTS = Built(
    ONE_PACKAGE, links=[("gpu0", "gpu1", "nvlink", 250.0)],
    values=sum((line(metric, *ends, rate, 4000, 10000, kind=kind)
                for metric, first, second, rate, kind in (
                    (PEER, "gpu0", "gpu1", 200, ENGINE),
                    (HOST, "numa0", "gpu0", 25, HOST_KIND), (HOST, "numa0", "gpu1", 25, HOST_KIND))
                for ends in ((first, second), (second, first))), []),
    sets=[(HOST + "_concurrent", [("numa0", f"gpu{gpu}", 25 * GB) for gpu in range(2)])])

# Two packages with two GPUs each: 40 GB/s inside, 10 across; two copies from or to one memory share
# 25 GB/s, one gets 25.
SHARED_PORTS = Built(
    [{"cores": 8, "ports": [["gpu"]] * 2} for _ in range(2)],
    links=[("gpu0", "gpu1", "nvlink", 50.0), ("gpu2", "gpu3", "nvlink", 50.0)],
    values=peers({(a, b): 40 if a // 2 == b // 2 else 10
                  for a, b in itertools.combinations(range(4), 2)})
    + hosts(25, range(4), lambda gpu: gpu // 2)
    + [(HOST, *end, 50 * GB, {"direction": "both"}) for gpu in range(4)
       for end in ((f"numa{gpu // 2}", f"gpu{gpu}"), (f"gpu{gpu}", f"numa{gpu // 2}"))],
    sets=[(HOST + "_concurrent", [(*((f"gpu{gpu}", f"numa{numa}") if back else
                                     (f"numa{numa}", f"gpu{gpu}")), 12.5 * GB)
                                  for gpu in (2 * numa, 2 * numa + 1)])
          for numa in range(2) for back in (False, True)])

# Sixteen GPUs in four hives; a GPU's hive is its number modulo 4.
INTERLEAVED = {(a, b): 40 if a % 4 == b % 4 else 9
               for a, b in itertools.combinations(range(16), 2)}
HIVES16 = Built([{"cores": 8, "ports": [["gpu"]] * 8} for _ in range(2)],
                links=[(f"gpu{a}", f"gpu{b}", "xgmi", 50.0)
                       for (a, b), rate in INTERLEAVED.items() if rate == 40],
                values=peers(INTERLEAVED))
HIVE16 = [[hive, hive + 4, hive + 8, hive + 12] for hive in range(4)]

# Two GPUs without links and without stated rates.
UNKNOWN = Built(TWO_PACKAGES, stated=0)

# Two sockets as above, whose cores exchange in 100 ns and 14 GB/s inside, in 300 and 6 across.
TALKING = Built(SOCKETS.numa, distance=SOCKETS.distance, values=SOCKETS.values + [
    (metric, f"core{a}", f"core{b}", inside if a // 8 == b // 8 else across)
    for a, b in itertools.permutations(range(16), 2)
    for metric, inside, across in (("cpu_pingpong", 100, 300), ("cpu_queue", 14 * GB, 6 * GB),
                                   ("cpu_copy", 14 * GB, 6 * GB))])

# Two sockets with two L3s of four cores each: 50 ns in an L3, 100 in a socket, 300 across.
TWO_LEVELS = Built([{"cores": 8, "l3": 4} for _ in range(2)], values=[
    ("cpu_pingpong", f"core{a}", f"core{b}",
     50 if a // 4 == b // 4 else 100 if a // 8 == b // 8 else 300)
    for a, b in itertools.permutations(range(16), 2)])


def many_ports(count):
    """GPUs with 25 GB/s from memory each, all at once too, and 200 between them."""
    return Built([{"cores": 8, "ports": [["gpu"]] * count}],
                 links=[(f"gpu{a}", f"gpu{b}", "nvlink", 250.0)
                        for a, b in itertools.combinations(range(count), 2)],
                 values=peers({pair: 200 for pair in itertools.combinations(range(count), 2)})
                 + hosts(25, range(count), lambda gpu: 0),
                 sets=[(HOST + "_concurrent", [("numa0", f"gpu{gpu}", 25 * GB)
                                               for gpu in range(count)])])


FOUR_PORTS, SIX_PORTS = many_ports(4), many_ports(6)


class Virtual:
    """A node of tests/nodes with the GPU probe's measurements of the stand-in of that name."""

    METRICS = ",".join([PEER, "gpu_gpu_kernel", HOST, "copy_latency", PEER + "_concurrent",
                        "gpu_gpu_kernel_concurrent", HOST + "_concurrent"])

    def __init__(self, name):
        self.name = name

    def write(self, folder):
        shutil.copytree(TESTS / "nodes" / self.name, folder, dirs_exist_ok=True)
        records = measured(self.name, "--metrics", self.METRICS, "--profile", "quick")
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / "measured.jsonl").write_text(lines)
        about = json.loads((folder / "node.json").read_text())
        (folder / "node.json").write_text(json.dumps({**about, "origin": "standin",
                                                      "measurements": "measured.jsonl"}))
        return folder


# tests/standin/nodes/mi250x.md has its figures: engines get 50 GB/s, 37.5 over single links.
# Kernels get 152, 76 and 38 one way over four links, two and one, and 174 both ways in a module.
VIRTUAL_MI250X = Virtual("mi250x")
