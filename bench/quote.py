"""The tables of README.md and bench/README.md that quote bench/results/choose.json, so that nobody copies figures by hand.

    bench/quote.py            writes the tables anew between their marks, `<!-- choose: NAME -->` and `<!-- end -->`
    bench/quote.py --check    exit code 1 if a table is not that of the results
"""
import argparse
import json
import re
import sys

from choose import DRAWS, OF, beside_c2ucb
from common import ROOT

RESULTS = ROOT / "bench" / "results" / "choose.json"
PAGES = [ROOT / "README.md", ROOT / "bench" / "README.md"]
KERNELS = ["avx512", "avx2"]


def ms(seconds):
    """Milliseconds with three digits or so."""
    value = seconds * 1e3
    return f"{value:.1f}" if value >= 10 else f"{value:.3f}" if value >= 0.1 else f"{value:.4f}"


def title(row):
    """The case as people write it."""
    name = row["case"].removesuffix(", catalogue").replace("M = 10", "10 promotions").replace("1000 clusters", "1,000 clusters")
    name = re.sub(r"^(\d+)000 x", r"\1,000 x", name)
    best_of = not row["blocks"] > 1 and "hard" not in name and "catalogue" not in row["case"]
    return f"{name}, k = {row['k']:,}" if best_of else name


def bar_of(row):
    return f"{row['bar']:g}" if row["bar"] else ""


def bold(text, missed):
    return f"**{text}**" if missed else text


class Results:
    """The rows of the results, those of all paths together."""

    def __init__(self, results):
        self.rows = results["rows"]
        beside = beside_c2ucb(self.rows)
        self.all = {}
        for place, row in enumerate(self.rows):
            what = tuple(row.get(name) for name in ("case", "policy", "storage", "threads"))
            self.all.setdefault(what, {})[row.get("kernel")] = {**row, "beside": beside.get(place)}
        measured = {row.get("kernel") for row in self.rows}
        self.kernels = [kernel for kernel in KERNELS if kernel in measured]

    def cells(self, what, cell):
        """What a function says of a row, for each path."""
        return ", ".join(cell(self.all[what][kernel]) for kernel in self.kernels)

    def first(self, what):
        return self.all[what][self.kernels[0]]

    def ratios(self, what):
        return self.cells(what, lambda row: bold(f"{row['ratio']:.1f}", row["bar"] and row["ratio"] < row["bar"]))

    def cases(self, threads, catalogue):
        """The cases of a number of threads with their policies and storages, in the order of the results."""
        return [what for what in self.all
                if what[3] == threads and ("catalogue" in what[0]) == catalogue and "passes" in self.first(what)]

    def choices(self, threads):
        yield "| arms | X | ours (ms) AVX-512, AVX2 | numpy | times numpy AVX-512, AVX2 | bar | C2UCB times numpy | TS / C2UCB | passes over X |"
        yield "|---|---|---|---|---|---|---|---|---|"
        for what in self.cases(threads, False):
            case, policy, storage, _ = what
            if policy != "arm-wise-ts":
                continue
            row, c2ucb = self.first(what), (case, "c2ucb", storage, threads)
            times = self.cells(what, lambda row: bold(f"{row['ratio']:.1f}", row["bar"] and row["ratio"] < row["bar"]))
            beside = self.cells(what, lambda row: bold(f"{row['beside']:.2f}", row["case"] in OF and row["beside"] > DRAWS))
            passes = self.cells(what, lambda row: bold(f"{row['passes']:.2f}", row["most_passes"] and row["passes"] > row["most_passes"]))
            yield (f"| {title(row)} | {storage} | {self.cells(what, lambda row: ms(row['times']['ours']['median']))} "
                   f"| {ms(row['times'][row['best']]['median'])} | {times} | {bar_of(row)} "
                   f"| {self.cells(c2ucb, lambda row: format(row['ratio'], '.1f'))} | {beside} | {passes} |")

    def catalogues(self):
        yield "| catalogue | policy | threads | ours (ms) AVX-512, AVX2 | numpy | times numpy | bar | passes over X | at most |"
        yield "|---|---|---|---|---|---|---|---|---|"
        for what in sorted((what for threads in (1, 2) for what in self.cases(threads, True)), key=lambda what: what[:2]):
            row = self.first(what)
            passes = self.cells(what, lambda row: bold(f"{row['passes']:.2f}", row["most_passes"] and row["passes"] > row["most_passes"]))
            yield (f"| {title(row)} | {what[1]} | {what[3]} | {self.cells(what, lambda row: ms(row['times']['ours']['median']))} "
                   f"| {ms(row['times'][row['best']]['median'])} | {self.ratios(what)} | {bar_of(row)} | {passes} | {row['most_passes'] or ''} |")

    def others(self):
        yield "| beside | ours (ms) | theirs | ratio | bar |"
        yield "|---|---|---|---|---|"
        for row in self.rows:
            if "passes" not in row:
                peer = row.get("best") or next(name for name in reversed(row["times"]) if name in row["case"])
                name = ", ".join(filter(None, [row["case"], row.get("kernel")]))
                yield (f"| {name} | {ms(row['times']['ours']['median'])} | {ms(row['times'][peer]['median'])} "
                       f"| {bold(format(row['ratio'], '.1f'), row['bar'] and row['ratio'] < row['bar'])} | {bar_of(row)} |")

    def short(self):
        """Those of README."""
        yield "| arms x features | armwise (AVX-512) | numpy | times as fast | with float32 features |"
        yield "|---|---|---|---|---|"
        for what in [*self.cases(1, False), *self.cases(1, True)]:
            case, policy, storage, _ = what
            if policy != "arm-wise-ts" or storage != "f64" or "hard" in case:
                continue
            row, narrow = self.first(what), (case, policy, "f32", 1)
            name = title(row) + (", the same arms every round (`Catalogue`)" if "catalogue" in case else "")
            plain = lambda what: self.cells(what, lambda row: f"{row['ratio']:.1f}")
            yield (f"| {name.replace('1e6', '1,000,000').replace('2e5', '200,000').replace('5e4', '50,000')} "
                   f"| {ms(row['times']['ours']['median'])} ms | {ms(row['times'][row['best']]['median'])} ms "
                   f"| {plain(what)} | {plain(narrow) if narrow in self.all else ''} |")

    def tables(self):
        return {"short": self.short(), "one thread": self.choices(1), "two threads": self.choices(2),
                "catalogues": self.catalogues(), "others": self.others()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 where a table is not that of the results")
    check = parser.parse_args().check
    tables, different, found = {name: "\n".join(table) for name, table in Results(json.loads(RESULTS.read_text())).tables().items()}, [], set()
    for page in PAGES:
        text = page.read_text()

        def quoted(match, page=page):
            found.add(match[1])
            new = f"<!-- choose: {match[1]} -->\n{tables[match[1]]}\n<!-- end -->"
            if new != match[0]:
                different.append(f"{page.relative_to(ROOT)}: {match[1]}")
            return new

        new = re.sub(r"<!-- choose: ([a-z ]+) -->\n.*?<!-- end -->", quoted, text, flags=re.DOTALL)
        if not check:
            page.write_text(new)
    if found != set(tables):
        sys.exit(f"no page has a place for {sorted(set(tables) - found)}")
    print("\n".join(different) if different else "every table is that of bench/results/choose.json")
    sys.exit(1 if check and different else 0)


if __name__ == "__main__":
    main()
