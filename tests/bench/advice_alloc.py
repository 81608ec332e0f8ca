"""Allocate in the regret bench: what a buffer costs those gpus that stream over it, in each memory by each kind of allocation. Uses follow each other, as the answer counts them."""
from advice_execute import flow


def where(node, memory, kind):
    """What advice_run calls such an allocation; None where it knows none."""
    if kind == "device" or memory in node.memory_of.values():
        return next((gpu[3:] for gpu in node.gpus if memory in (gpu, node.memory_of[gpu]) or (memory == node.numa_of[gpu] and node.is_one_memory)), None)
    return {"pinned": "h", "system": "s", "managed": "m"}[kind] + memory[4:] if memory in node.numas else None


def steps(request, place):
    """A step and how often it happens, for each gpu's reading and writing: whole rounds of the buffer, and what is left."""
    size = request["bytes"]
    for access in request["accesses"]:
        for kind, wanted in (("r", access["reads_bytes"]), ("w", access["writes_bytes"])):
            for count, part in ((wanted // size, size), (1, wanted % size)):
                if count > 0 and part > 0:
                    yield count, ("held", [flow(part, [f"{kind}:{place}:{place}:{access['by'][3:]}"])], [])


def times(run, request, places):
    """What all uses take together."""
    lists = [list(steps(request, place)) for place in places]
    took = iter(run.run([step for one in lists for _, step in one]))
    return [sum(count * next(took) for count, _ in one) for one in lists]


def repeated(run, request, place, repeats):
    """The same, several times with noise. Rounds of a buffer differ from each other."""
    result = [0.0] * repeats
    for count, step in steps(request, place):
        again = run.run([step], repeats)[0]
        for i in range(repeats):
            result[i] += sum(again[(i + k) % repeats] for k in range(count))
    return result


def candidates(node, request):
    kinds = request["kinds"]
    found = [gpu[3:] for gpu in node.gpus if "device" in kinds]
    for kind in ("pinned", "system", "managed"):
        if kind in kinds:
            found += [place for place in (where(node, numa, kind) for numa in node.numas) if place is not None]
    return list(dict.fromkeys(found))


def judge(node, run, noisy, request, answer, draw, repeats):
    first = request["accesses"][0]["by"]
    host = next((kind for kind in ("pinned", "system", "managed") if kind in request["kinds"]), None)
    default = first[3:] if "device" in request["kinds"] else where(node, node.numas[0], host)
    near = first[3:] if "device" in request["kinds"] else where(node, node.numa_of[first], host)
    linked = max(node.gpus, key=lambda g: (sum(node.width[g].get(access["by"], 0) + 100 * (g == access["by"]) for access in request["accesses"]), -node.gpus.index(g)))
    rivals = {"in order": default, "closest": near, "link count": linked[3:] if "device" in request["kinds"] else near}
    option = answer["options"][0]
    chosen = where(node, option["memory"], option["kind"])
    if chosen is None:
        return {"error": f"{option['kind']} on {option['memory']} is no allocation here"}
    places = list(dict.fromkeys([chosen, *rivals.values(), *candidates(node, request)]))
    took = dict(zip(places, times(run, request, places)))
    best = min(places, key=lambda place: took[place])
    return {"took_ns": took[chosen], "best_ns": took[best], "worst_ns": max(took.values()), "rivals": {name: took[place] for name, place in rivals.items()}, "again_ns": repeated(noisy, request, chosen, repeats),
            "predicted": option["predicted"], "chosen": f"{option['kind']} on {option['memory']}", "best": best}
