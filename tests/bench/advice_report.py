"""The regret bench's figures and tables."""
import collections
import json
import statistics

WORSE = 1.001  # of what the choice took beside another, from where on it counts as worse
GREW = 0.01  # of a request's regret beside other rows of it, in shares of the best one's time
TARGETS = {"mean": 0.01, "worst": 0.10, "behind": 0, "median": 0.02, "p95": 0.08, "coverage": (0.93, 0.97)}
TARGETS_TEXT = "targets: mean regret <= 1 %, worst <= 10 %, behind 0; error: median <= 2 %, 95th percentile <= 8 %; repeats covered 93 to 97 %"


def read_rows(files):
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


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
            "over": sum(r > TARGETS["worst"] for r in regrets), "behind": sum(row["took_ns"] > row["rivals"]["in order"] * WORSE for row in rows),
            "rivals": rivals, "predicted": len(errors), "median": statistics.median(errors) if errors else None, "p95": percentile(errors, 0.95),
            "intervals": sum(bool(covered(row)) for row in rows), "coverage": sum(inside) / len(inside) if inside else None, "median_coverage": sum(medians) / len(medians) if medians else None}


def share(value, width=7):
    return f"{'-' if value is None else format(100 * value, '.1f'):>{width}}"


HEAD = (f"{'':<16}{'':>5} |{'regret %':^21}|{'others, mean %':^25}|{'prediction error %':^20}|{'within the interval %':^23}|\n"
        f"{'':<16}{'n':>5} |{'mean':>6}{'worst':>7}{'behind':>7} |{'in order':>9}{'closest':>8}{'links':>7} |{'n':>5}{'median':>7}{'95th':>7} |{'n':>5}{'repeats':>8}{'medians':>9} |")


def missed(f):
    """The names of the targets that such figures miss, or have nothing for."""
    low, high = TARGETS["coverage"]
    over = [name for name in ("mean", "worst", "behind", "median", "p95") if f[name] is None or f[name] > TARGETS[name]]
    return over + ([] if f["coverage"] is not None and low <= f["coverage"] <= high else ["coverage"])


def line(name, rows):
    f = figures(rows)
    rivals = "".join(share(f["rivals"].get(rival), width) for rival, width in (("in order", 9), ("closest", 8), ("link count", 7)))
    return (f"{name:<16}{f['count']:>5} |{share(f['mean'], 6)}{share(f['worst'])}{f['behind']:>7} |{rivals} |{f['predicted']:>5}{share(f['median'])}{share(f['p95'])} |"
            f"{f['intervals']:>5}{share(f['coverage'], 8)}{share(f['median_coverage'], 9)} | {'NOT met: ' + ' '.join(missed(f)) if missed(f) else 'met'}")


def grouped(rows, key):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def beside_any(rows):
    """The rows of Route beside the best of all ways that were found; by themselves they are beside the best that may lead by what was measured."""
    return [row if "error" in row else {**row, "best_ns": row["any_ns"]} for row in rows]


def show_table(rows, groups):
    print(HEAD)
    for seed, group in sorted(grouped(rows, lambda row: row["seed"]).items()):
        for method, own in grouped(group, lambda row: row["method"]).items():
            print(line(f"seed {seed} {method}", own))
        print()
    for method, own in grouped(rows, lambda row: row["method"]).items():
        print(line(f"all {method}", own))
        if method == "route":
            print(line("all route*", beside_any(own)))
    print(line("all", rows))
    print(f"\n{TARGETS_TEXT}\n*: beside the best of all ways that were found, measured together or not")
    for key, part in (("node", 0), ("sharing", 1)) if groups else ():
        print(f"\n{key}")
        for name, group in grouped(rows, lambda row: row["name"].split("/")[part]).items():
            print(line(name, group))


SUMMARY = [("mean", "mean regret", "1 %"), ("worst", "worst regret", "10 %"), ("behind", "slower than in order", "0"), ("median", "prediction error, median", "2 %"),
           ("p95", "prediction error, 95th percentile", "8 %"), ("coverage", "repeats within the interval", "93 to 97 %")]
NAMES = {"bind": "Bind", "route": "Route", "alloc": "Allocate"}


def summary(rows):
    """The lines of a table as docs/MEASURING.md has it: each figure of each method, misses in bold."""
    methods = grouped(rows, lambda row: row["method"])
    lines = ["| figure | target | now | reason of a miss |", "|---|---|---|---|"]

    def put(method, own, keys):
        found = figures(own)
        for key, words, target in SUMMARY:
            cell = f"{found[key]} of {found['count']}" if key == "behind" else share(found[key], 0) + " %"
            if key in keys:
                lines.append(f"| {method}: {words} | {target} | " + (f"**{cell}**" if key in missed(found) else cell) + " | |")

    for method, own in methods.items():
        put(NAMES[method], own, [key for key, _, _ in SUMMARY])
        if method == "route":
            put("Route beside all that was found", beside_any(own), ("mean", "worst"))
    return lines


def show_beside(rows, others):
    """What both have asked: figures of each method before and now, then the requests that are worse now."""
    def key(row):
        return row["seed"], row["name"]

    before = {key(row): row for row in others if "error" not in row}
    pairs = [(before[key(row)], row) for row in rows if key(row) in before and "error" not in row]
    print(f"\nBeside the other rows, {len(pairs)} requests in both:")
    print(HEAD)
    for method, own in [*grouped(pairs, lambda pair: pair[1]["method"]).items(), ("all", pairs)]:
        print(line(f"{method} before", [old for old, _ in own]))
        print(line(f"{method} now", [new for _, new in own]))
    grew = sorted((regret(old) - regret(new), key(new)) for old, new in pairs if regret(new) > regret(old) + GREW)
    print(f"\nRegret grew by more than {100 * GREW:g} %: {len(grew)}; fell by that: {sum(regret(old) > regret(new) + GREW for old, new in pairs)}")
    for _, (seed, name) in grew:
        old, new = next(pair for pair in pairs if key(pair[1]) == (seed, name))
        print(f"  {100 * regret(old):.1f} % -> {100 * regret(new):.1f} %  seed {seed} {name} {new['method']}: {old['chosen'][:60]} -> {new['chosen'][:60]}")


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
    yield "Regret over 10 %:", sorted((row for row in rows if regret(row) > TARGETS["worst"]), key=regret, reverse=True)
    yield "Slower than in order:", sorted(behind, key=lambda row: row["rivals"]["in order"] / row["took_ns"])
    yield "Predicted more than 8 % wrong:", sorted((row for row in rows if (error(row) or 0) > TARGETS["p95"]), key=error, reverse=True)
    yield "Repeats outside the interval:", sorted(outside, key=lambda row: sum(covered(row)))


def show_row(row, answers):
    inside, predicted = covered(row), row["predicted"] or {"time_ns": float("nan"), "low_ns": None, "high_ns": None}
    bounds = "" if not inside else f" ({predicted['low_ns'] / 1e3:.2f} to {predicted['high_ns'] / 1e3:.2f})"
    print(f"  {100 * regret(row):.1f} %  seed {row['seed']} {row['name']} {row['method']} {json.dumps(row['request'])}")
    print(f"          chose {row['chosen'][:150]} ({row['took_ns'] / 1e3:.2f} us), best {row['best'][:150]} ({row['best_ns'] / 1e3:.2f} us), in order {row['rivals']['in order'] / 1e3:.2f} us; {cause(row)}")
    print(f"          predicted {predicted['time_ns'] / 1e3:.2f} us{bounds}, again {' '.join(f'{ns / 1e3:.2f}' for ns in row['again_ns'])}" + (f"; {sum(inside)} of {len(inside)} inside" if inside else ""))
    for option in row["answer"].get("options", [])[:4] if answers else ():
        print("          option", json.dumps({key: option[key] for key in ("segments", "memory", "kind", "call", "predicted") if key in option}))
    for key in ("reasons", "warnings") if answers else ():
        for reason in row["answer"].get(key) or ():
            print(f"          {key[:-1]}: {reason['text']}")


def show(rows, steps, seconds, args):
    print("Advice on virtual nodes: a consistency check. The stand-in driver was written apart from the planner, but shares assumptions with it; real GPUs are the judge.")
    print(f"{len(rows)} requests, {len({row['name'].split('/')[0] for row in rows})} nodes, {len({row['name'].split('/')[1] for row in rows})} ways of sharing, noise {100 * args.noise:g} % when measured and when carried out {args.repeats} times;")
    print(f"regret from times without noise, of {steps} steps carried out; {seconds:.0f} s. behind: slower than in order. medians: of the {args.repeats} repeats.")
    print()
    show_table(rows, args.groups)
    print("", *summary(rows), sep="\n")
    if args.beside:
        show_beside(rows, read_rows(args.beside))
    sections = misses(rows) if args.missed else [("Worst:", sorted((row for row in rows if "error" not in row), key=regret, reverse=True)[:args.worst])]
    for title, group in sections:
        print(f"\n{title}" if group else f"\n{title} none")
        for row in group:
            show_row(row, args.answers)
    for row in (row for row in rows if "error" in row):
        print(f"  FAILED seed {row['seed']} {row['name']} {row['method']} {json.dumps(row['request'])}: {row['error']}")
