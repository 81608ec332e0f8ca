"""Writes node folders of gpus in hives, and computes the true times of their steps.

Hives are connected only through their packages. Contention is a max-min of this file's own: the
planner shares no code with it. Figures are invented; the origin is standin.
"""
import itertools
import json
import pathlib
import random

from advice_requests import traffic


def mask(first, count):
    return f"0x{((1 << count) - 1) << first:08x}"


class Hives:
    """Packages with some gpus each; the gpus of a package have direct links to each other.

    link, straight: bytes per second of a direct link as reported, and of a copy over it. host:
    reported rate of a gpu's own link to the package; None: not reported. copy: rate of a copy with
    host memory.

    through: rate of a single copy through the packages. up, down, both: capacities of the gpu's
    link to the package. told: whether the driver reports direct links. wide: gpus without a limit
    of both directions.

    quarrel: remainders by 7 of sums of gpu numbers. Two copies between hives with such a sum are
    slower, which no shared resource explains. side_out, side_in: a hive's side to the host. cross,
    cross_both: one direction between packages, and both.
    """

    def __init__(self, hives, *, kind="xgmi", link=50e9, straight=37.5e9, host=32e9, copy=28e9,
                 through=24e9, up=26e9, down=26e9, both=1e12, side_out=1e12, side_in=1e12,
                 cross=36e9, cross_both=1e12, told=True, wide=(), quarrel=()):
        self.hives, self.count = hives, sum(hives)
        self.hive_of = [hive for hive, gpus in enumerate(hives) for _ in range(gpus)]
        self.wide, self.quarrel, self.told, self.kind = wide, quarrel, told, kind
        self.link, self.straight, self.host, self.copy = link, straight, host, copy
        self.through = through
        self.capacity = {"up": up, "down": down, "both": both, "out": side_out, "in": side_in,
                         "cross": cross, "cross both": cross_both}

    # ---- true times ----

    def uses(self, a, b):
        """Resources that a copy shares with others, each by kind and location."""
        x, y = self.hive_of[a], self.hive_of[b]
        if x == y:
            return [("direct", a, b)]
        return [("up", a), ("down", b), *(("both", gpu) for gpu in (a, b) if gpu not in self.wide),
                ("out", x), ("in", y), ("cross", x, y), ("cross both", min(x, y), max(x, y))]

    def alone(self, a, b):
        if self.hive_of[a] == self.hive_of[b]:
            return self.straight
        return min([self.through, *self.capacity.values()])

    def rates(self, flows):
        """Rate of each concurrent flow (a, b): all rise together until a resource is full or the
        flow reaches its rate alone.
        """
        if self.quarrel:
            return [self.alone(*flow) * (0.55 if self.hive_of[flow[0]] != self.hive_of[flow[1]]
                                         and any(sum(flow + other) % 7 in self.quarrel
                                                 for other in flows if other != flow) else 1)
                    for flow in flows]
        rate, growing = [0.0] * len(flows), set(range(len(flows)))
        users = {}
        for i, flow in enumerate(flows):
            for used in self.uses(*flow):
                users.setdefault(used, []).append(i)
        while growing:
            rise = min(self.alone(*flows[i]) - rate[i] for i in growing)
            for used, its in users.items():
                left = self.capacity.get(used[0], 1e15) - sum(rate[i] for i in its)
                more = sum(i in growing for i in its)
                rise = min(rise, left / more) if more else rise
            for i in growing:
                rate[i] += rise
            full = {used for used, its in users.items()
                    if sum(rate[i] for i in its) >= self.capacity.get(used[0], 1e15) * (1 - 1e-9)}
            growing = {i for i in growing if rate[i] < self.alone(*flows[i]) * (1 - 1e-9)
                       and not full & set(self.uses(*flows[i]))}
        return rate

    def step_s(self, flows):
        """Time from the common start of flows (a, b, bytes) to the end of the last."""
        left, now = {i: flow[2] for i, flow in enumerate(flows)}, 0.0
        while left:
            who = list(left)
            rate = self.rates([flows[i][:2] for i in who])
            passes = min(left[i] / r for i, r in zip(who, rate))
            now += passes
            left = {i: left[i] - r * passes for i, r in zip(who, rate)
                    if left[i] - r * passes > 1e-6 * flows[i][2]}
        return now

    def placed_s(self, pattern, gpus, size=1 << 28):
        return self.step_s([(gpus[a], gpus[b], bytes_)
                            for a, b, bytes_ in traffic(pattern, len(gpus), size)])

    def best_s(self, pattern, tasks, size=1 << 28):
        """Best time of all placements.

        Gpus of a hive are equal, so it tries only the hive of each task.
        """
        times = []
        for hives in itertools.product(range(len(self.hives)), repeat=tasks):
            if all(hives.count(hive) <= gpus for hive, gpus in enumerate(self.hives)):
                free = [[gpu for gpu in range(self.count) if self.hive_of[gpu] == hive]
                        for hive in range(len(self.hives))]
                times.append(self.placed_s(pattern, [free[hive].pop(0) for hive in hives], size))
        return min(times)

    # ---- discovered and measured data ----

    def topology(self):
        index, lines = itertools.count(1), []
        count = len(self.hives)

        def sets(first, cpus, node, nodes):
            return (f'cpuset="{mask(first, cpus)}" complete_cpuset="{mask(first, cpus)}" '
                    f'nodeset="{mask(node, nodes)}" complete_nodeset="{mask(node, nodes)}" '
                    f'gp_index="{next(index)}"')

        lines.append(f'<object type="Machine" os_index="0" allowed_cpuset="{mask(0, 4 * count)}" '
                     f'allowed_nodeset="{mask(0, count)}" {sets(0, 4 * count, 0, count)}>')
        for hive in range(count):
            lines.append(f'<object type="Package" os_index="{hive}" {sets(4 * hive, 4, hive, 1)}>'
                         f'<object type="NUMANode" os_index="{hive}" local_memory="{64 << 30}" '
                         f'{sets(4 * hive, 4, hive, 1)}/>')
            for cpu in range(4 * hive, 4 * hive + 4):
                lines.append(f'<object type="Core" os_index="{cpu}" {sets(cpu, 1, hive, 1)}>'
                             f'<object type="PU" os_index="{cpu}" {sets(cpu, 1, hive, 1)}/>'
                             '</object>')
            for gpu in (gpu for gpu in range(self.count) if self.hive_of[gpu] == hive):
                speed = f' pci_link_speed="{self.host / 1e9:.6f}"' if self.host is not None else ""
                lines.append(f'<object type="Bridge" bridge_type="0-1" depth="0" '
                             f'bridge_pci="0000:[{gpu + 1:02x}-{gpu + 1:02x}]" '
                             f'gp_index="{next(index)}">'
                             f'<object type="PCIDev" pci_busid="{self.pci(gpu)}" '
                             f'pci_type="0302 [10de:2335] [0000:0000] a1"{speed} '
                             f'gp_index="{next(index)}"/></object>')
            lines.append("</object>")
        return ('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
                '<topology version="2.0">\n' + "\n".join(lines) + "\n</object>\n</topology>\n")

    @staticmethod
    def pci(gpu):
        return f"0000:{gpu + 1:02x}:00.0"

    def facts(self):
        yield {"record": "run", "schema": 1, "probe": "gpu", "backend": "cuda",
               "started_at": 1790000000, "conditions": {"driver": "1"}}
        for gpu in range(self.count):
            yield {"record": "device", "gpu": f"gpu{gpu}", "pci": self.pci(gpu),
                   "uuid": f"GPU-{gpu}", "model": "Stand-in", "bytes": 32 << 30}
        for a, b in itertools.combinations(range(self.count), 2):
            if self.told and self.hive_of[a] == self.hive_of[b]:
                yield {"record": "link", "from": f"gpu{a}", "to": f"gpu{b}", "kind": self.kind,
                       "width": 1, "nominal_bytes_per_s": self.link, "state": "up"}

    def sets(self, pairs, draw):
        """Sets in the order of the probe: single pairs, all gpus to the next and so on, pairs of
        pairs. pairs is the number of the latter, drawn; None: all, followed by all to one and
        one to all.
        """
        every = list(itertools.permutations(range(self.count), 2))
        two = [[p, q] for p, q in itertools.combinations(every, 2) if p != q[::-1]]
        yield from ([pair] for pair in every)
        yield from ([(gpu, (gpu + k) % self.count) for gpu in range(self.count)]
                    for k in range(1, self.count))
        yield from two if pairs is None else draw.sample(two, pairs)
        for gpu in range(self.count) if pairs is None else ():
            yield [(other, gpu) for other in range(self.count) if other != gpu]
            yield [(gpu, other) for other in range(self.count) if other != gpu]

    def measurements(self, pairs, noise, seed):
        draw = random.Random(seed)

        def measured(rate):
            rate *= draw.gauss(1, noise)
            return rate, rate * (1 - noise), rate * (1 + noise)

        yield {"record": "run", "schema": 1, "probe": "gpu", "backend": "standin",
               "started_at": 1790000000, "conditions": {}}
        for a, b in itertools.permutations(range(self.count), 2):
            value, low, high = measured(self.alone(a, b))
            yield {"record": "value", "metric": "gpu_gpu_copy_engine", "from": f"gpu{a}",
                   "to": f"gpu{b}", "axes": {}, "value": value, "low": low, "high": high, "n": 9}
        for a, b in itertools.combinations(range(self.count), 2):
            value, low, high = measured(sum(self.rates([(a, b), (b, a)])))
            yield {"record": "value", "metric": "gpu_gpu_copy_engine", "from": f"gpu{a}",
                   "to": f"gpu{b}", "axes": {"direction": "both"}, "value": value, "low": low,
                   "high": high, "n": 9}
        for gpu, hive in itertools.product(range(self.count), range(len(self.hives))):
            value, low, high = measured(self.copy if self.hive_of[gpu] == hive else 0.9 * self.copy)
            for ends in ((f"gpu{gpu}", f"numa{hive}"), (f"numa{hive}", f"gpu{gpu}")):
                yield {"record": "value", "metric": "host_gpu_copy_engine", "from": ends[0],
                       "to": ends[1], "axes": {}, "value": value, "low": low, "high": high, "n": 9}
        for flows in self.sets(pairs, draw):
            told = []
            for (a, b), rate in zip(flows, self.rates(flows)):
                rate, low, high = measured(rate)
                told.append({"from": f"gpu{a}", "to": f"gpu{b}", "bytes_per_s": rate, "low": low,
                             "high": high})
            yield {"record": "set", "metric": "gpu_gpu_copy_engine_concurrent", "flows": told}

    def write(self, folder, *, pairs=None, noise=0.005, seed=1):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        node = {"name": "hives", "origin": "standin", "hwloc": "topology.xml",
                "facts": "facts.jsonl", "measurements": "measurements.jsonl"}
        (folder / "node.json").write_text(json.dumps(node))
        (folder / "topology.xml").write_text(self.topology())
        for name, records in (("facts.jsonl", self.facts()),
                              ("measurements.jsonl", self.measurements(pairs, noise, seed))):
            (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))
        return folder
