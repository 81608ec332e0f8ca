"""Route in the regret bench: what a way takes when it is carried out, beside those that may lead by what was measured, and beside all that was found (any_ns)."""
import re

from advice_execute import flow, hop, judged

PIECES_MOST = 512


def reverse(node, segments):
    """The same ways the other way round: hops by the gpu at their other end."""
    result = []
    for size, hops, chunk in segments:
        back = []
        for kind, source, target, _ in reversed(hops):
            back.append((kind, target, source, None))
        result.append((size, back, chunk))
    return result


def texts(segments):
    return [flow(size, [hop(*one) for one in hops], chunk) for size, hops, chunk in segments]


def meanwhile(node, run, request):
    """What moves at the same time goes the way that is faster alone."""
    result = []
    for other in request.get("concurrent", []):
        ways = [texts([(other["bytes"], [(kind, other["from"], other["to"], None)], 0)]) for kind in "ek"]
        alone = run.run([("held", way, []) for way in ways])
        result += ways[alone[1] < alone[0]]
    return result


def step(node, request, segments, others):
    back = texts(reverse(node, segments)) if request.get("both_directions") else []
    return "call", texts(segments), back + others


def advised(request, option):
    """An option of an answer as (bytes, hops, chunk) for each segment. Who drives a hop is what its call says."""
    drivers = re.findall(r"(?:stream of|engine of|kernel on) (gpu\d+)", option["call"])
    left, result = request["bytes"], []
    for i, segment in enumerate(option["segments"]):
        places = [request["from"], *segment["via"], request["to"]]
        kind = "k" if segment["mechanism"] == "kernel" else "e"
        mine = drivers if len(option["segments"]) == 1 and len(drivers) == len(places) - 1 else [None] * (len(places) - 1)
        size = left if i + 1 == len(option["segments"]) else min(left, round(request["bytes"] * segment["fraction"] / 16) * 16)
        left -= size
        if size > 0:
            result.append((size, [(kind, a, b, d) for a, b, d in zip(places, places[1:], mine)], segment["chunk_bytes"] or 0))
    return result


def chunks(size):
    wanted = {1 << 20, 1 << 22} | {1 << max(16, (size // part).bit_length() - 1) for part in (4, 16, 64)}
    return sorted(chunk for chunk in wanted if chunk < size and size / chunk <= PIECES_MOST) or [0]


def candidates(node, request):
    """Ways that an application could take: direct by either end's engine and by kernel; through one memory and through two gpus in pieces."""
    source, target, size = request["from"], request["to"], request["bytes"]
    kinds = "e" if request.get("overlap") else "ek"
    for kind in kinds:
        for driver in {source, target}:
            if driver.startswith("gpu") and (kind == "e" or driver == (source if source.startswith("gpu") else target)):
                yield [(size, [(kind, source, target, driver)], 0)]
    for via in node.numas + node.gpus:
        if via in (source, target) or (via.startswith("numa") and "numa" in source + target):
            continue
        for kind in kinds if via.startswith("gpu") else "e":
            for chunk in chunks(size):
                yield [(size, [(kind, source, via, None), (kind, via, target, None)], chunk)]
    if size >= 1 << 22 and source.startswith("gpu") and target.startswith("gpu"):
        inner = [gpu for gpu in node.gpus if gpu not in (source, target)]
        for a in inner:
            for b in inner:
                if a != b and node.width[source].get(a) and node.width[a].get(b) and node.width[b].get(target):
                    for kind in kinds:
                        yield [(size, [(kind, source, a, None), (kind, a, b, None), (kind, b, target, None)], chunks(size)[0])]


def splits(request, ranked):
    """The fastest way and others beside it, each with bytes for its rate."""
    size, count = request["bytes"], 0
    for number in (2, 3):
        chosen, seen = [], set()
        for ns, segments in ranked:
            places = tuple(one[1:3] for one in segments[0][1])
            if places not in seen and len(chosen) < number + 2:
                seen.add(places)
                chosen.append((ns, segments[0]))
        for skip in range(0, max(0, len(chosen) - number + 1)):
            ways = [chosen[0]] + chosen[1 + skip:number + skip]
            if len(ways) < number or size < 1 << 20:
                continue
            rates = [1 / ns for ns, _ in ways]
            left, result = size, []
            for i, (rate, (_, (_, hops, chunk))) in enumerate(zip(rates, ways)):
                share = left if i + 1 == len(ways) else round(size * rate / sum(rates) / 4096) * 4096
                left -= share
                result.append((share, hops, chunk if chunk < share else 0))
            if all(share > 0 for share, _, _ in result):
                yield result
                count += 1


def widest(node, request):
    """Over the gpu whose links to both ends are wider than the direct one; in pieces of 1 MiB."""
    source, target, size = request["from"], request["to"], request["bytes"]
    direct = [(size, [("e", source, target, None)], 0)]
    if "numa" in source + target:
        return direct
    width = node.width[source].get(target, 0)
    via = max((g for g in node.gpus if g not in (source, target)), key=lambda g: min(node.width[source].get(g, 0), node.width[g].get(target, 0)), default=None)
    if via is None or min(node.width[source].get(via, 0), node.width[via].get(target, 0)) <= width:
        return direct
    return [(size, [("e", source, via, None), ("e", via, target, None)], 1 << 20 if size > 1 << 20 else 0)]


def judge(node, run, noisy, request, answer, draw, repeats):
    others = meanwhile(node, run, request)
    ways = list(candidates(node, request))
    took = run.run([step(node, request, way, others) for way in ways])
    ranked = sorted(zip(took, ways), key=lambda pair: pair[0])
    more = list(splits(request, ranked))
    ranked = sorted(ranked + list(zip(run.run([step(node, request, way, others) for way in more]), more)), key=lambda pair: pair[0])
    chosen = advised(request, answer["options"][0])
    leading = [advised(request, option) for option in answer["options"] if option["may_lead"]] + [way for way in ways if len(way[0][1]) == 1]
    default = [(request["bytes"], [("e", request["from"], request["to"], None)], 0)]
    rivals = {"in order": default, "closest": default, "link count": widest(node, request)}
    known = [way for _, way in ranked] + list(rivals.values())

    def fastest(ways):
        return min(zip(run.run([step(node, request, way, others) for way in ways]), ways), key=lambda pair: pair[0])[1]

    compared = {name: step(node, request, way, others) for name, way in {"advised": chosen, "fastest": fastest(leading), "any": fastest(known), "worst": ranked[-1][1], **rivals}.items()}
    row = judged(run, noisy, compared, repeats)
    return {**row, "any_ns": min(row["best_ns"], row["rivals"].pop("any")), "predicted": answer["options"][0]["predicted"], "chosen": ";".join(texts(chosen)), "best": ";".join(texts(fastest(leading)))}
