"""The regret bench's figures and tables."""
import collections
import json
import statistics

WORSE = 1.001  # of what the choice took beside another, from where on it counts as worse
TARGETS = {"mean regret": 0.02, "worst regret": 0.10, "median error": 0.03, "error, 95th percentile": 0.10, "coverage": (0.93, 0.97)}


def percentile(values, share):
    """The value below which that share lies; None of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def regret(row, took=None):
    """0 where nothing moves."""
    return (took or row["took_ns"]) / row["best_ns"] - 1 if row["best_ns"] > 0 else 0.0


def noise(row):
    """By what two halves of the repeats of one and the same choice differ, of the advised or the best one; 0 where there were no rounds."""
    return max((share for share in row["halves"].values() if share is not None), default=0.0)


def error(row):
    """How far the prediction is from the median of what was carried out, as a share of that; None where there is none."""
    real = statistics.median(row["again_ns"])
    return abs(row["predicted"]["time_ns"] / real - 1) if row["predicted"] and real > 0 else None


def covered(row):
    """Of the repeats, which the interval holds; [] where the prediction has none."""
    predicted = row["predicted"]
    if not predicted or predicted["low_ns"] is None or predicted["high_ns"] is None or not row["best_ns"] > 0:
        return []
    return [predicted["low_ns"] <= ns <= predicted["high_ns"] for ns in row["again_ns"]]


def median_covered(row):
    predicted = row["predicted"]
    if not covered(row):
        return []
    return [predicted["low_ns"] <= statistics.median(row["again_ns"]) <= predicted["high_ns"]]


def figures(rows):
    """What a set of rows comes to."""
    rows = [row for row in rows if "error" not in row]
    regrets, errors = [regret(row) for row in rows], [e for e in map(error, rows) if e is not None]
    inside, medians = [c for row in rows for c in covered(row)], [c for row in rows for c in median_covered(row)]
    rivals = {name: statistics.mean(regret(row, row["rivals"][name]) for row in rows) for name in rows[0]["rivals"]} if rows else {}
    return {"count": len(rows), "mean": statistics.mean(regrets) if rows else None, "worst": max(regrets, default=None),
            "over": sum(r > TARGETS["worst regret"] for r in regrets), "behind": sum(row["took_ns"] > row["rivals"]["in order"] * WORSE for row in rows),
            "rivals": rivals, "predicted": len(errors), "median": statistics.median(errors) if errors else None, "p95": percentile(errors, 0.95),
            "coverage": sum(inside) / len(inside) if inside else None, "median_coverage": sum(medians) / len(medians) if medians else None}


def share(value, width=7):
    return f"{'-' if value is None else format(100 * value, '.1f'):>{width}}"


HEAD = (f"{'':<27}{'n':>5} |{'regret %':^22}|{'others, mean %':^27}|{'prediction error %':^24}|{'covered %':^16}\n"
        f"{'':<27}{'':>5} |{'mean':>7}{'worst':>7}{'behind':>8}|{'in order':>9}{'closest':>8}{'links':>8}  |{'n':>6}{'median':>8}{'95th':>8}  |{'repeats':>8}{'medians':>8}")


def line(name, rows):
    f = figures(rows)
    rivals = "".join(share(f["rivals"].get(rival), width) for rival, width in (("in order", 9), ("closest", 8), ("link count", 8)))
    return (f"{name:<27}{f['count']:>5} |{share(f['mean'])}{share(f['worst'])}{f['behind']:>8}|{rivals}  |{f['predicted']:>6}{share(f['median'], 8)}{share(f['p95'], 8)}  |"
            f"{share(f['coverage'], 8)}{share(f['median_coverage'], 8)}")


def grouped(rows, key):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def verdicts(rows):
    """Each target beside what came out."""
    f = figures(rows)
    low, high = TARGETS["coverage"]
    yield "mean regret", f["mean"], "<= 2 %", f["mean"] is not None and f["mean"] <= TARGETS["mean regret"]
    yield "worst regret", f["worst"], "<= 10 %", f["worst"] is not None and f["worst"] <= TARGETS["worst regret"]
    yield "slower than in order, of all", f["behind"] / f["count"] if f["count"] else None, "0", f["behind"] == 0
    yield "prediction error, median", f["median"], "<= 3 %", f["median"] is not None and f["median"] <= TARGETS["median error"]
    yield "prediction error, 95th percentile", f["p95"], "<= 10 %", f["p95"] is not None and f["p95"] <= TARGETS["error, 95th percentile"]
    yield "repeats within the interval", f["coverage"], "93-97 %", f["coverage"] is not None and low <= f["coverage"] <= high


def cause(row):
    """Why a choice was slow, as far as the figures say it: the prediction of it was wrong, or a better one was not looked at."""
    e = error(row)
    if e is None:
        return "chosen without a prediction"
    predicted = row["predicted"]["time_ns"]
    if predicted < row["took_ns"] * 0.97:
        return f"predicted {predicted / 1e3:.1f} us, takes {row['took_ns'] / 1e3:.1f}: what slows it is not known"
    if predicted > row["took_ns"] * 1.03:
        return f"predicted {predicted / 1e3:.1f} us, takes {row['took_ns'] / 1e3:.1f}"
    return "predicted right; the best one was judged worse or not considered"


def misses(rows):
    """(title, rows) of those that miss a target, the worst first."""
    rows = [row for row in rows if "error" not in row]
    behind = [row for row in rows if row["took_ns"] > row["rivals"]["in order"] * WORSE]
    outside = [row for row in rows if covered(row) and not all(covered(row))]
    yield "Regret over 10 %:", sorted((row for row in rows if regret(row) > TARGETS["worst regret"]), key=regret, reverse=True)
    yield "Slower than in order:", sorted(behind, key=lambda row: row["rivals"]["in order"] / row["took_ns"])
    yield "Predicted more than 10 % wrong:", sorted((row for row in rows if (error(row) or 0) > TARGETS["error, 95th percentile"]), key=error, reverse=True)
    yield "Repeats outside the interval:", sorted(outside, key=lambda row: sum(covered(row)))


def show_row(row, answers):
    inside, predicted = covered(row), row["predicted"] or {"time_ns": float("nan"), "low_ns": None, "high_ns": None}
    bounds = "" if not inside else f" ({predicted['low_ns'] / 1e3:.2f} to {predicted['high_ns'] / 1e3:.2f})"
    print(f"  {100 * regret(row):.1f} %  {row['name']} {row['method']} {json.dumps(row['request'])}")
    print(f"          chose {row['chosen'][:150]} ({row['took_ns'] / 1e3:.2f} us), best {row['best'][:150]} ({row['best_ns'] / 1e3:.2f} us), in order {row['rivals']['in order'] / 1e3:.2f} us; {cause(row)}")
    print(f"          predicted {predicted['time_ns'] / 1e3:.2f} us{bounds}, again {' '.join(f'{ns / 1e3:.2f}' for ns in row['again_ns'])}" + (f"; {sum(inside)} of {len(inside)} inside" if inside else ""))
    for option in row["answer"].get("options", [])[:4] if answers else ():
        print("          option", json.dumps({key: option[key] for key in ("segments", "memory", "kind", "call", "predicted") if key in option}))
    for key in ("reasons", "warnings") if answers else ():
        for text in row["answer"].get(key) or ():
            print(f"          {key[:-1]}: {text}")


def show(rows, steps, seconds, args):
    print("Advice on virtual nodes: a consistency check. The stand-in driver was written apart from the planner, but shares assumptions with it; real GPUs are the judge.")
    print(f"{len(rows)} requests (seed {args.seed}), {len({row['name'].split('/')[0] for row in rows})} nodes, {len({row['name'].split('/')[1] for row in rows})} ways of sharing, noise {100 * args.noise:g} % when measured and when carried out {args.repeats} times;")
    print(f"regret from times without noise, of {steps} steps carried out; {seconds:.0f} s. behind: slower than in order. medians: of the {args.repeats} repeats.")
    print()
    print(HEAD)
    for title, key in (("node", lambda r: r["name"].split("/")[0]), ("sharing", lambda r: r["name"].split("/")[1]), ("question", lambda r: r["method"])):
        for name, group in grouped(rows, key).items():
            print(line(f"{title} {name}", group))
        print()
    print(line("all", rows))
    print()
    for name, value, target, met in verdicts(rows):
        print(f"{name:<36}{share(value)} %   target {target:<8} {'met' if met else 'NOT met'}")
    sections = misses(rows) if args.missed else [("Worst:", sorted((row for row in rows if "error" not in row), key=regret, reverse=True)[:args.worst])]
    for title, group in sections:
        print(f"\n{title}" if group else f"\n{title} none")
        for row in group:
            show_row(row, args.answers)
    for row in (row for row in rows if "error" in row):
        print(f"  FAILED {row['name']} {row['method']} {json.dumps(row['request'])}: {row['error']}")
