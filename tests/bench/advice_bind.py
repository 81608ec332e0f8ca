"""Bind in the regret bench: what a placement takes when it is carried out, the best of all placements or of many, and what others would choose."""
import itertools
import math

from advice_execute import flow, hop, judged, together
from advice_requests import flows_of

ALL = 1700    # placements that are all carried out
SAMPLE = 400  # of more than that
ROUNDS = 4    # of looking for a better one beside the best found


def allowed(node, request):
    return request.get("allowed", {}).get("gpus") or node.gpus


def worth(pair):
    """With the host a program copies by engine unless a kernel is clearly faster."""
    return 0.98 if "numa" in pair[0] + pair[1] else 1


def own_flows(request, gpus, memories):
    """(from, to, bytes) of what each task begins, in that order, as places; gpus: of each task. A flow is split over all gpus of both tasks, what goes from and to the host over the task's; tasks on one
    gpu use the same bytes. Each begins with that to the next task."""
    tasks, each, host = len(gpus), len(gpus[0]), request.get("host_bytes", 0)
    result = [[] for _ in gpus]
    flows = flows_of(request)
    for a, b, size in sorted(flows, key=lambda flow: (flow[1] - flow[0]) % tasks):
        result[a] += [(source, gpus[b][(i + k) % each], size // each ** 2) for k in range(each) for i, source in enumerate(gpus[a])]
    for own, its, memory in zip(result, gpus, memories):
        if host > 0:
            own += [pair for gpu in its for pair in ((memory, gpu, host // each), (gpu, memory, host // each))]
    return [[moves for moves in own if moves[0] != moves[1] and moves[2] > 0] for own in result]


def steps(node, run, request, placements):
    """One step for each placement: each task begins its own transfers, all at once, and waits for them. Between gpus by the mechanism that is asked for, or for each pair and size the
    one that is faster alone; with the host always that."""
    wanted = {"copy_engine": "e", "kernel": "k"}.get(request.get("mechanism"))
    moved = [own_flows(request, gpus, memories) for gpus, memories in placements]
    order = sorted({moves for tasks in moved for own in tasks for moves in own if wanted is None or "numa" in moves[0] + moves[1]})
    alone = run.run([("step", [flow(size, [hop(kind, a, b)])], []) for a, b, size in order for kind in "ek"])
    kinds = {pair: "e" if alone[2 * i] * worth(pair) <= alone[2 * i + 1] else "k" for i, pair in enumerate(order)}
    return [("step", together([[flow(size, [hop(kinds.get((a, b, size), wanted), a, b)]) for a, b, size in own] for own in tasks]), []) for tasks in moved]


def callers_of(request):
    """How many tasks begin something."""
    return request["tasks"] if request.get("host_bytes", 0) > 0 else max(1, len({a for a, _, _ in flows_of(request)}))


def near(node, gpus):
    return gpus, tuple(node.numa_of[its[0]] for its in gpus)


def times(node, run, request, placements):
    """Nothing moves in a step without flows: tasks that share all their gpus."""
    listed = steps(node, run, request, placements)
    took = iter(run.callers(callers_of(request)).run([step for step in listed if step[1]]))
    return [next(took) if step[1] else 0.0 for step in listed]


def grouped(row, each):
    """A row of gpus as each task's, which has no order among its own."""
    return tuple(tuple(sorted(row[i:i + each])) for i in range(0, len(row), each))


def berths(node, request):
    """The gpus that there are to give out: each as often as tasks may share it, as evenly as it goes."""
    gpus, wanted = sorted(allowed(node, request)), request["tasks"] * request["gpus_per_task"]
    return gpus if wanted <= len(gpus) else None


def shared(draw, node, request):
    """One way to have more tasks than gpus: each gpu has as many as any other, or one less."""
    gpus, tasks = sorted(allowed(node, request)), request["tasks"]
    draw.shuffle(gpus)
    row = [gpus[i % len(gpus)] for i in range(tasks)]
    row.sort() if request.get("order") == "rank" else draw.shuffle(row)
    return grouped(row, 1)


def candidates(node, request, draw):
    """All placements, or a sample of them; and whether they are all."""
    gpus, each = berths(node, request), request["gpus_per_task"]
    wanted = request["tasks"] * each
    if gpus is None:
        return [shared(draw, node, request) for _ in range(SAMPLE)], False
    if request.get("order") == "rank":
        return [grouped(row, each) for row in itertools.combinations(gpus, wanted)], True
    if math.perm(len(gpus), wanted) <= ALL * math.factorial(each) ** request["tasks"]:
        return list(dict.fromkeys(grouped(row, each) for row in itertools.permutations(gpus, wanted))), True
    return [grouped(draw.sample(gpus, wanted), each) for _ in range(SAMPLE)], False


def beside(node, request, gpus):
    """Placements with two tasks' gpus changed over, or one on another gpu."""
    row, each = [gpu for its in gpus for gpu in its], len(gpus[0])
    free = [gpu for gpu in sorted(allowed(node, request)) if gpu not in row]
    for i in range(len(row)):
        for other in [row[:k] + [row[i]] + row[k + 1:i] + [row[k]] + row[i + 1:] for k in range(i)] + [row[:i] + [gpu] + row[i + 1:] for gpu in free]:
            if request.get("order") != "rank":
                yield grouped(other, each)


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
    """As a launcher gives gpus out: the first to the first, and as evenly as it goes."""
    gpus, wanted = sorted(allowed(node, request)), request["tasks"] * request["gpus_per_task"]
    least, more = divmod(wanted, len(gpus))
    row = gpus[:wanted] if least == 0 or wanted == len(gpus) else [gpu for i, gpu in enumerate(gpus) for _ in range(least + (i < more))]
    return grouped(row, request["gpus_per_task"])


def in_rank_order(request, row):
    return grouped(sorted(row) if request.get("order") == "rank" else row, request["gpus_per_task"])


def closest(node, request):
    """As a launcher that spreads tasks over NUMA nodes in turn and gives each the nearest gpus that are left by the tree: its NUMA node's, its package's, any."""
    all_gpus = sorted(allowed(node, request))
    left, row = list(all_gpus), []
    for task in range(request["tasks"]):
        numa = node.numas[task % len(node.numas)]
        for _ in range(request["gpus_per_task"]):
            left = left or list(all_gpus)
            gpu = min(left, key=lambda g: (node.numa_of[g] != numa, node.package_of[node.numa_of[g]] != node.package_of[numa], g))
            left.remove(gpu)
            row.append(gpu)
    return in_rank_order(request, row)


def by_links(node, request):
    """The tasks that exchange most on the gpus with most links between them; each next task beside those that it talks to, further gpus of a task beside its first."""
    tasks, all_gpus, chosen = request["tasks"], sorted(allowed(node, request)), {}
    left = list(all_gpus)
    weight = [[0] * tasks for _ in range(tasks)]
    for a, b, size in flows_of(request):
        weight[a][b] += size
        weight[b][a] += size
    while len(chosen) < tasks:
        task = max((t for t in range(tasks) if t not in chosen), key=lambda t: (sum(weight[t][o] for o in chosen) if chosen else max(weight[t]), -t))
        wanted = [gpu for other in chosen if weight[task][other] > 0 for gpu in chosen[other]]
        chosen[task] = []
        for _ in range(request["gpus_per_task"]):
            left = left or list(all_gpus)
            around = wanted + chosen[task]
            future = not around and any(weight[task])
            gpu = max(left, key=lambda g: (sum(node.width[g].get(o, 0) for o in around), max((node.width[g].get(o, 0) for o in left), default=0) if future else 0, -left.index(g)))
            left.remove(gpu)
            chosen[task].append(gpu)
    return in_rank_order(request, [gpu for t in range(tasks) for gpu in chosen[t]])


RIVALS = {"in order": in_order, "closest": closest, "link count": by_links}


def judge(node, run, noisy, request, answer, draw, repeats):
    """What the answer costs; what the best would, what rivals would, and what it was predicted to take beside what it took again and again with noise."""
    gpus = tuple(tuple(task["gpus"]) for task in answer["tasks"])
    memories = tuple(next((m for m in task["memory"] if m in node.numas), node.numa_of[task["gpus"][0]]) for task in answer["tasks"])
    rivals = {name: choose(node, request) for name, choose in RIVALS.items()}
    ranked = ranking(node, run, request, draw, [gpus, *rivals.values()])
    own = steps(node, run, request, [(gpus, memories)])
    found = steps(node, run, request, [near(node, ranked[0][1]), near(node, ranked[-1][1])])
    others = steps(node, run, request, [near(node, rival) for rival in rivals.values()])
    compared = dict(zip(["advised", "fastest", "worst", *rivals], own + found + others))
    callers = callers_of(request)
    return {**judged(run.callers(callers), noisy.callers(callers), compared, repeats), "predicted": answer["predicted"], "chosen": words(gpus), "best": words(ranked[0][1])}


def words(gpus):
    return " ".join("+".join(its) for its in gpus)
