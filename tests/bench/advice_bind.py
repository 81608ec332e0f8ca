"""Bind in the regret bench: what a placement takes when it is carried out, the best of all placements or of many, and what others would choose."""
import itertools
import math

from advice_execute import flow, hop, together
from advice_requests import flows_of

ALL = 1700    # placements that are all carried out
SAMPLE = 400  # of more than that
ROUNDS = 4    # of looking for a better one beside the best found


def allowed(node, request):
    return request.get("allowed", {}).get("gpus") or node.gpus


def worth(pair):
    """With the host a program copies by engine unless a kernel is clearly faster."""
    return 0.98 if "numa" in pair[0] + pair[1] else 1


def steps(node, run, request, placements, rotated=True):
    """One step for each placement: each task begins its own transfers, all at once, and waits for them. Between gpus by the mechanism that is asked for, or for each pair and size the
    one that is faster alone; with the host always that. rotated: to the next task first, as is advised; else to the lowest."""
    wanted = {"copy_engine": "e", "kernel": "k"}.get(request.get("mechanism"))
    flows, host = flows_of(request), request.get("host_bytes", 0)
    pairs = {(gpus[a], gpus[b], size) for gpus, _ in placements for a, b, size in flows} if wanted is None else set()
    for gpus, memories in placements if host > 0 else ():
        pairs |= {pair for gpu, memory in zip(gpus, memories) for pair in ((memory, gpu, host), (gpu, memory, host))}
    order = sorted(pairs)
    alone = run.run([("step", [flow(size, [hop(kind, a, b)])], []) for a, b, size in order for kind in "ek"])
    kinds = {pair: "e" if alone[2 * i] * worth(pair) <= alone[2 * i + 1] else "k" for i, pair in enumerate(order)}

    def by(a, b, size):
        return flow(size, [hop(kinds.get((a, b, size), wanted), a, b)])

    result = []
    for gpus, memories in placements:
        callers = [[] for _ in gpus]
        for a, b, size in sorted(flows, key=lambda flow: (flow[1] - flow[0]) % len(gpus)) if rotated else flows:
            callers[a].append(by(gpus[a], gpus[b], size))
        for own, gpu, memory in zip(callers, gpus, memories):
            if host > 0:
                own += [by(memory, gpu, host), by(gpu, memory, host)]
        result.append(("step", together(callers), []))
    return result


def callers_of(request):
    """How many tasks begin something."""
    return request["tasks"] if request.get("host_bytes", 0) > 0 else max(1, len({a for a, _, _ in flows_of(request)}))


def near(node, gpus):
    return gpus, tuple(node.numa_of[gpu] for gpu in gpus)


def times(node, run, request, placements):
    return run.callers(callers_of(request)).run(steps(node, run, request, placements))


def candidates(node, request, draw):
    """All placements, or a sample of them; and whether they are all."""
    gpus, tasks = sorted(allowed(node, request)), request["tasks"]
    if request.get("order") == "rank":
        return list(itertools.combinations(gpus, tasks)), True
    if math.perm(len(gpus), tasks) <= ALL:
        return list(itertools.permutations(gpus, tasks)), True
    return [tuple(draw.sample(gpus, tasks)) for _ in range(SAMPLE)], False


def beside(node, request, gpus):
    """Placements with two tasks changed over, or one on another gpu."""
    free = [gpu for gpu in sorted(allowed(node, request)) if gpu not in gpus]
    for i in range(len(gpus)):
        for k in range(i):
            other = list(gpus)
            other[i], other[k] = other[k], other[i]
            yield tuple(other)
        for gpu in free:
            yield gpus[:i] + (gpu,) + gpus[i + 1:]


def ranking(node, run, request, draw, more):
    """(ns, gpus) of all placements that were carried out, the fastest first; more: some that are to be among them."""
    found, complete = candidates(node, request, draw)
    found = list(dict.fromkeys(found + list(more)))
    ranked = sorted(zip(times(node, run, request, [near(node, gpus) for gpus in found]), found))
    for _ in range(0 if complete else ROUNDS):
        tried = list(dict.fromkeys(other for _, gpus in ranked[:3] for other in beside(node, request, gpus)))
        best_ns = ranked[0][0]
        ranked = sorted(set(ranked) | set(zip(times(node, run, request, [near(node, gpus) for gpus in tried]), tried)))
        if ranked[0][0] >= best_ns:
            break
    return ranked


# ---- rivals ----


def in_order(node, request):
    return tuple(sorted(allowed(node, request))[:request["tasks"]])


def closest(node, request):
    """As a launcher that spreads tasks over NUMA nodes in turn and gives each the nearest gpu that is left by the tree: its NUMA node's, its package's, any."""
    left, chosen = sorted(allowed(node, request)), []
    for task in range(request["tasks"]):
        numa = node.numas[task % len(node.numas)]
        gpu = min(left, key=lambda g: (node.numa_of[g] != numa, node.package_of[node.numa_of[g]] != node.package_of[numa], g))
        left.remove(gpu)
        chosen.append(gpu)
    return tuple(sorted(chosen)) if request.get("order") == "rank" else tuple(chosen)


def by_links(node, request):
    """The tasks that exchange most on the gpus with most links between them; each next task beside those that it talks to."""
    tasks, left, chosen = request["tasks"], sorted(allowed(node, request)), {}
    weight = [[0] * tasks for _ in range(tasks)]
    for a, b, size in flows_of(request):
        weight[a][b] += size
        weight[b][a] += size
    while len(chosen) < tasks:
        task = max((t for t in range(tasks) if t not in chosen), key=lambda t: (sum(weight[t][o] for o in chosen) if chosen else max(weight[t]), -t))
        wanted = [chosen[other] for other in chosen if weight[task][other] > 0]
        future = not wanted and any(weight[task])
        gpu = max(left, key=lambda g: (sum(node.width[g].get(o, 0) for o in wanted), max((node.width[g].get(o, 0) for o in left), default=0) if future else 0, -left.index(g)))
        left.remove(gpu)
        chosen[task] = gpu
    gpus = tuple(chosen[t] for t in range(tasks))
    return tuple(sorted(gpus)) if request.get("order") == "rank" else gpus


RIVALS = {"in order": in_order, "closest": closest, "link count": by_links}


def judge(node, run, noisy, request, answer, draw, repeats):
    """What the answer costs, what the best would, what rivals would, and what it was predicted to take beside what it took again and again with noise."""
    gpus = tuple(task["gpus"][0] for task in answer["tasks"])
    memories = tuple(next((m for m in task["memory"] if m in node.numas), node.numa_of[task["gpus"][0]]) for task in answer["tasks"])
    rivals = {name: choose(node, request) for name, choose in RIVALS.items()}
    ranked = ranking(node, run, request, draw, [gpus, *rivals.values()])
    order = steps(node, run, request, [(gpus, memories)]) + steps(node, run, request, [near(node, rival) for rival in rivals.values()], rotated=False)
    took, *others = run.callers(callers_of(request)).run(order)
    again = noisy.callers(callers_of(request)).run(order[:1], repeats)[0]
    return {"took_ns": took, "best_ns": min(ranked[0][0], took), "worst_ns": ranked[-1][0], "rivals": dict(zip(rivals, others)), "again_ns": again, "predicted": answer["predicted"],
            "chosen": " ".join(gpus), "best": " ".join(ranked[0][1])}
