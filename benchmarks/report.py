"""What a benchmark says: tables, printed row by row as they are measured and kept for `--out FOLDER`.

Invariant: the table is written even where no plot can be drawn.
"""

import os
import statistics


class Report:
    """Markdown tables with prose between them, and ratios to a peer by project and kind of query."""

    def __init__(self, name, title, peer):
        """`name` is that of the files to write, `peer` whose milliseconds are divided by ours."""
        self.name = name
        self.title = title
        self.peer = peer
        self.lines = []
        self.ratios = {}

    def say(self, line=""):
        print(line, flush=True)
        self.lines.append(line)

    def heading(self, text):
        self.say(f"\n## {text}")

    def table(self, *columns):
        """Begin a table."""
        self.say(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")

    def row(self, *cells):
        escaped = [str(cell).replace("|", r"\|") for cell in cells]  # a regex may hold what ends a cell
        self.say(f"| {' | '.join(escaped)} |")

    def ratio(self, project, kind, ratio):
        """One bar of the plot: how many times as fast as the peer."""
        self.ratios.setdefault(project, {})[kind] = ratio

    def median_ratio(self, project):
        return statistics.median(self.ratios[project].values())

    def write(self, folder):
        """`NAME.md` and, where matplotlib is there, `NAME.svg`."""
        os.makedirs(folder, exist_ok=True)
        plot = f"{self.name}.svg"
        drawn = bool(self.ratios) and self._plot(os.path.join(folder, plot))
        with open(os.path.join(folder, f"{self.name}.md"), "w", encoding="utf-8") as file:
            picture = f"\n![times as fast as {self.peer}]({plot})\n" if drawn else ""
            file.write("\n".join([f"# {self.title}", picture, *self.lines]).strip() + "\n")
        print(f"written to {folder}" + ("" if drawn or not self.ratios else "; no plot: pip install -e '.[bench]'"))

    def _plot(self, path):
        try:
            import matplotlib as mpl
        except ImportError:
            return False
        mpl.use("svg")
        mpl.rcParams["svg.hashsalt"] = self.name  # else every run renames all that did not change
        from matplotlib import pyplot as plt

        kinds = list(dict.fromkeys(kind for ratios in self.ratios.values() for kind in ratios))
        high = 0.8 / max(1, len(self.ratios))
        figure, axes = plt.subplots(figsize=(8, 1.5 + 0.2 * len(kinds) * (1 + len(self.ratios))), layout="constrained")
        for number, (project, ratios) in enumerate(self.ratios.items()):
            places = [kinds.index(kind) + number * high for kind in ratios]
            label = f"{project}: median {self.median_ratio(project):.3g}"
            axes.bar_label(axes.barh(places, ratios.values(), high, label=label), fmt=" %.3g", fontsize=7)
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_yticks([place + 0.4 - high / 2 for place in range(len(kinds))], kinds)
        axes.invert_yaxis()
        axes.set_xlabel(f"times as fast as {self.peer}, measured in the same run")
        axes.set_title(self.title)
        axes.xaxis.set_major_formatter("{x:g}")
        figure.legend(loc="outside lower center", ncols=len(self.ratios), fontsize=8)
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)
        return True
