"""What the regret bench asks, drawn from a seed, and the traffic that a request means, by the words of the contract."""
import math


def sizes(draw, least=4096, most=1 << 30):
    """Bytes between, evenly over the logarithm, in whole pages."""
    return round(math.exp(draw.uniform(math.log(least), math.log(most))) / 4096) * 4096


# ---- traffic between ranks ----


def dims(count, dimensions):
    """As even as can be, longer sides first."""
    best = None
    def split(left, factors, most):
        nonlocal best
        if len(factors) == dimensions - 1:
            if left <= most:
                shape = factors + [left]
                best = shape if best is None or max(shape) - min(shape) < max(best) - min(best) else best
            return
        for side in range(min(left, most), 0, -1):
            if left % side == 0:
                split(left // side, factors + [side], side)
    split(count, [], count)
    return best


def grid(count, dimensions):
    shape = dims(count, dimensions)
    strides = [math.prod(shape[i + 1:]) for i in range(dimensions)]
    for rank in range(count):
        for side, stride in zip(shape, strides):
            if rank // stride % side + 1 < side:
                yield from ((rank, rank + stride), (rank + stride, rank))


def traffic(pattern, count, size):
    """(from, to, bytes) of all flows."""
    if pattern == "pairs":
        return [flow for i in range(0, count - 1, 2) for flow in ((i, i + 1, size), (i + 1, i, size))]
    if pattern in ("ring", "allreduce"):
        share = size if pattern == "ring" else 2 * (count - 1) * size // count
        return [(i, (i + 1) % count, share) for i in range(count)] if count > 1 else []
    if pattern == "alltoall":
        return [(a, b, size) for a in range(count) for b in range(count) if a != b]
    if pattern in ("grid2d", "grid3d"):
        return [(a, b, size) for a, b in grid(count, int(pattern[4]))]
    return []


def flows_of(request):
    """Between tasks of this node, whose ranks may be any of the job's."""
    task_of = {rank: task for task, rank in enumerate(request.get("ranks", range(request["tasks"])))}
    exact = [(flow["from"], flow["to"], flow["bytes"]) for flow in request.get("flows", [])]
    return [(task_of[a], task_of[b], size) for a, b, size in exact + traffic(request.get("pattern", "none"), request.get("world", request["tasks"]), request.get("bytes", 0))]


# ---- requests ----


def shape(draw, node):
    """How many tasks there are, gpus for each of them, and tasks that share one."""
    kind = draw.random()
    if kind < 0.15 and len(node.gpus) >= 4:
        return draw.randint(2, len(node.gpus) // 2), 2, 1
    if kind < 0.25:
        return draw.randint(len(node.gpus) + 1, 2 * len(node.gpus)), 1, 2
    return (draw.randint(2, len(node.gpus)) if draw.random() < 0.85 else len(node.gpus)), 1, 1


def place_ranks(draw, request):
    """The node's tasks are other ranks than 0, 1, 2; with exact flows some of a larger job, whose other ranks have flows of their own elsewhere."""
    tasks = request["tasks"]
    world = tasks if "pattern" in request else draw.randint(tasks, 4 * tasks)
    request.update(ranks=draw.sample(range(world), tasks), world=world)
    for flow in request.get("flows", []):
        flow.update({"from": request["ranks"][flow["from"]], "to": request["ranks"][flow["to"]]})


def bind(draw, node):
    tasks, each, sharing = shape(draw, node)
    request = {"tasks": tasks, "gpus_per_task": each, "cores_per_task": 1, "mechanism": draw.choice(["best", "best", "copy_engine", "kernel"])}
    if sharing > 1:
        request["tasks_per_gpu"] = sharing
    kind = draw.choice(["pairs", "ring", "grid2d", "grid3d", "alltoall", "allreduce", "flows", "flows", "host", "host"])
    if kind == "flows":
        pairs = [(a, b) for a in range(tasks) for b in range(tasks) if a != b]
        chosen = draw.sample(pairs, draw.randint(1, min(len(pairs), 2 * tasks)))
        request["flows"] = [{"from": a, "to": b, "bytes": sizes(draw, 65536)} for a, b in chosen]
    elif kind != "host":
        request.update(pattern=kind, bytes=sizes(draw, most=1 << 29))
    if kind == "host" or draw.random() < 0.4:
        request["host_bytes"] = sizes(draw, 65536)
    if draw.random() < 0.25:
        request["order"] = "rank"
    if draw.random() < 0.3 and tasks * each < len(node.gpus):
        request["allowed"] = {"gpus": sorted(draw.sample(node.gpus, draw.randint(tasks * each, len(node.gpus) - 1)))}
    if draw.random() < 0.15:
        place_ranks(draw, request)
    return request


def ends(draw, node, host=0.35):
    gpu = draw.choice(node.gpus)
    if draw.random() < host:
        other = draw.choice(node.numas)
        return (gpu, other) if draw.random() < 0.5 else (other, gpu)
    return gpu, draw.choice([name for name in node.gpus if name != gpu])


def route(draw, node):
    source, target = ends(draw, node)
    request = {"from": source, "to": target, "bytes": sizes(draw)}
    extra = draw.random()
    if extra < 0.2:
        request["overlap"] = True
    elif extra < 0.4:
        request["both_directions"] = True
    elif extra < 0.6:
        request["concurrent"] = []
        for _ in range(draw.randint(1, 3)):
            a, b = ends(draw, node)
            request["concurrent"].append({"from": a, "to": b, "bytes": max(4096, request["bytes"])})
    return request


def alloc(draw, node):
    size = sizes(draw, 65536)
    kinds = draw.choice([["pinned", "device"], ["pinned"], ["device"]] + [["pinned", "device", "system"]] * node.reaches_malloc + [["managed"], ["pinned", "managed"]] * node.has_managed)
    accesses = []
    for gpu in draw.sample(node.gpus, draw.randint(1, 2)):
        reads, writes = (draw.choice([0, size, size, draw.randint(2, 6) * size]) for _ in range(2))
        accesses.append({"by": gpu, "reads_bytes": reads if reads + writes > 0 else size, "writes_bytes": writes, "pattern": "stream"})
    return {"bytes": size, "kinds": kinds, "accesses": accesses}


METHODS = {"bind": bind, "route": route, "alloc": alloc}
