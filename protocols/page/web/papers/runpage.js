// The page of a training run: its state, curves, and games to click through.

import { byId, choice, clear, el, svg } from "../base/dom.js";
import { Board } from "../board/board.js";
import { steps } from "../game/steps.js";
import { drawChart } from "../plots/chart.js";
import { Graph } from "../plots/plots.js";
import { thousands } from "../plots/values.js";

const AXES = { step: "training steps", games: "games", minutes: "hours" };

const newest = (value, percent) => (percent ? `${(100 * value).toFixed(1)} %` : Number(value.toPrecision(4)));

class RunPage {
  constructor(data) {
    this.data = data;
    this.seen = new URLSearchParams(location.hash.slice(1)); // what is shown, kept when a live page loads itself again
    this.axis = this.seen.get("axis") in AXES ? this.seen.get("axis") : "step";
    this.charts = [];
    const warnings = data.warnings.map((text) => el("p", { class: "bad" }, `⚠ ${text}`));
    const facts = el("dl", { class: "facts" }, ...data.facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
    const axes = Object.entries(AXES).filter(([name]) => data.rows.some((row) => name in row));
    byId("main").classList.add("run");
    clear(byId("main"), el("section", { class: "card wide" }, ...warnings, facts, axes.length > 1 && choice("Over", axes, this.axis, (axis) => this.turn(axis))),
      this.chart("Elo, with 95 % intervals", () => ({ series: Object.entries(data.elo).map(([name, points]) => ({ name, points: this.moved(points) })), fixed: data.fixed, marks: this.moved(data.gate) }), "wide"),
      data.outside && this.outside(data.outside),
      ...[
        ["Policy: cross-entropy", [["rows", "policy", "trained on"], ["held", "policy", "held out"]]],
        ["Value: loss", [["rows", "value", "trained on"], ["held", "value", "held out"]]],
        ["Value: squared error / 4", [["held", "result_error", "of the result"], ["held", "teacher_error", "of the target"]], { low: 0 }],
        ["The search's move is the net's first", [["held", "top1", "held out"]], { percent: true, low: 0 }],
        ["Plies a game", [["played", "length", "self-play"]], { low: 0 }],
        ["Results", [["played", "first_wins", "first player wins"], ["played", "draws", "draws"], ["played", "capped", "too long"]], { percent: true, low: 0, high: 1 }],
        ["Resignation", [["played", "resigned", "games given up"], ["played", "resign_wrong", "would not have been lost"]], { fixed: [["at most 5 % wrong", 0.05]], percent: true, low: 0 }],
        ["Learning rate", [["rows", "rate", "learning rate"]], { low: 0 }],
      ].map(([title, lines, more]) => this.chart(title, () => ({ series: lines.map((line) => this.series(...line)), ...more }))),
      data.games.length ? this.viewer() : null,
      el("details", { class: "card wide" }, el("summary", {}, "Settings"), el("pre", {}, JSON.stringify(data.settings, null, 1))));
    this.draw();
  }

  chart(title, what, kind = "") {
    const picture = svg("svg", { class: "plot", role: "img" });
    const legends = el("p", { class: "legends" });
    const card = el("section", { class: `card ${kind}` }, el("h2", {}, title), legends, picture);
    this.charts.push(() => {
      const told = what();
      card.hidden = !told.series.some(({ points }) => points.length);
      clear(legends, ...told.series.map(({ name, points }, i) => points.length > 0 && el("span", { class: `line-${i}` }, `${name}: ${newest(points.at(-1)[1], told.percent)}`)));
      drawChart(picture, { ...told, label: `${title}, over ${AXES[this.axis]}` });
    });
    return card;
  }

  // The Elo of a few nets above players from outside, beside the ladder's.
  outside({ steps, ladder, outside }) {
    const elo = (rating) => (rating ? `${Math.round(rating[0])} [${Math.round(rating[1])}, ${Math.round(rating[2])}]` : "not rated");
    const row = (kind, cells) => el("tr", {}, ...cells.map((cell) => el(kind, {}, cell)));
    return el("section", { class: "card wide" }, el("h2", {}, "Against players from outside: Elo above each"), el("table", {},
      row("th", ["step", `the ladder: above ${ladder.zero}`, ...outside.map(({ name }) => name)]),
      ...steps.map((step, i) => row("td", [thousands(step), elo(ladder.elo[i]), ...outside.map((each) => `${elo(each.elo[i])}: +${each.scores[i].join(" =").replace(/=(\d+)$/, "-$1")}`)]))));
  }

  turn(axis) {
    this.axis = axis;
    this.keep({ axis });
    this.draw();
  }

  keep(words) {
    for (const [name, value] of Object.entries(words)) this.seen.set(name, value);
    history.replaceState(null, "", `#${this.seen}`);
  }

  draw() {
    for (const draw of this.charts) draw();
  }

  // A step as the axis counts.
  at(step) {
    if (this.axis === "step") return step;
    const row = this.data.rows.findLast((each) => each.step <= step) || this.data.rows[0];
    return this.axis === "minutes" ? row.minutes / 60 : row[this.axis];
  }

  moved(points) {
    return points.map(([step, ...rest]) => [this.at(step), ...rest]);
  }

  series(table, key, name) {
    return { name, points: this.data[table].filter((row) => key in row).map((row) => [this.at(row.step), row[key]]) };
  }

  // ---------------------------------------------------------------- games

  viewer() {
    const { games, game } = this.data;
    this.board = new Board(game);
    this.board.svg.setAttribute("role", "img");
    this.graph = new Graph((ply) => this.go(ply));
    this.told = el("p", { role: "status" });
    const options = games.map((each, i) => [i, `step ${thousands(each.step)}: ${each.moves.length} plies, ${{ 1: "1-0", 0: "½-½", "-1": "0-1" }[each.result] || "?"}`]);
    const wanted = games.findIndex((each) => String(each.id) === this.seen.get("game"));
    const chosen = Math.max(wanted, 0);
    const card = el("section", { class: "card wide games" }, el("h2", {}, "Games"), el("div", { class: "game" },
      el("div", {}, this.board.svg, el("div", { id: "steps" }, ...steps((to) => this.go(to), () => this.ply, () => Infinity))),
      el("div", {}, choice("Game", options, chosen, (i) => this.take(games[i])), this.told, this.graph.element)));
    this.take(games[chosen], Number(this.seen.get("ply")) || 0);
    return card;
  }

  take(game, ply = 0) {
    this.game = game;
    this.texts = [game.first];
    for (const [front, behind, between] of game.changes) {
      const before = this.texts.at(-1);
      this.texts.push(before.slice(0, front) + between + before.slice(before.length - behind));
    }
    this.go(ply);
  }

  go(ply) {
    const { game, texts } = this;
    this.ply = Math.max(0, Math.min(ply, game.moves.length));
    if (this.ply || this.seen.has("game")) this.keep({ game: game.id, ply: this.ply });
    this.board.show(texts[this.ply], { last: this.ply ? game.moves[this.ply - 1] : "" });
    this.told.textContent = this.ply ? `${this.ply}. ${game.words[this.ply - 1]}${this.ply === game.moves.length && game.reason ? `, ${game.reason}` : ""}` : "Start";
    const points = game.scores.map((score, i) => (score === null ? null : { ply: i, score }));
    this.graph.show({ plies: game.moves.length, points, ply: this.ply, title: "Expected result of the first player over the game, in per cent, by the search that played" });
  }
}

new RunPage(JSON.parse(byId("data").textContent));
