// The table of moves: prior, visits, share, Q, U, chances and line. Rows stay, so that a click never misses its move.

import { clear, el } from "../base/dom.js";
import { lossClass } from "../board/overlay.js";
import { t } from "../words/language.js";
import { percents, thousands, worth } from "./values.js";

const ROWS = 12;
const LEAST = 5;
const percent = (x) => (100 * x).toFixed(1);

export class MoveTable {
  // hover: gets the moves of a line, or null; play: a move; only: a move to search alone, or not.
  constructor({ hover, play, only }) {
    Object.assign(this, { hover, play, only });
    const heads = [["Only", "Search the ticked moves alone"], ["Move", ""], ["P %", "prior: that of the net alone"], ["Visits", ""], ["Share", "of the visits", "wide"],
      ["Q", "expected result of the mover, -1 to 1"], ["U", "exploration", "wide"], ["W D L", "chances of the mover, %"], ["Line", "the best answers", "unseen"]];
    this.body = el("tbody");
    this.rows = Array.from({ length: ROWS }, () => this.makeRow());
    this.body.addEventListener("pointerleave", () => this.hover(null));
    this.element = el("table", { class: "table" },
      el("caption", { class: "unseen" }, "The moves searched, best first"),
      el("thead", {}, el("tr", {}, ...heads.map(([text, title, look]) => el("th", { scope: "col", title, class: look }, text)))), this.body);
  }

  makeRow() {
    const row = { data: null };
    row.tick = el("input", { type: "checkbox", onchange: () => this.only(row.data.move, row.tick.checked) });
    row.move = el("button", { type: "button" });
    row.cells = Array.from({ length: 7 }, () => el("td"));
    row.bar = el("i");
    row.share = el("span");
    row.cells[2].append(el("div", { class: "bar" }, row.bar), row.share);
    row.cells[2].className = row.cells[4].className = "wide";
    row.cells[6].className = "line";
    row.element = el("tr", { hidden: true }, el("td", {}, row.tick), el("td", {}, row.move), ...row.cells);
    row.element.addEventListener("pointerdown", () => (row.pressed = row.data.move));
    row.element.addEventListener("pointerenter", () => this.hover(row.data.pv));
    row.move.addEventListener("focus", () => this.hover(row.data.pv));
    row.move.addEventListener("blur", () => this.hover(null));
    row.element.addEventListener("click", (event) => {
      if (event.target !== row.tick) this.play(event.detail ? row.pressed : row.data.move);
    });
    this.body.append(row.element);
    return row;
  }

  show(report, word, chosen, game) {
    const lines = new Map(report.lines.map((line) => [line.pv[0], line]));
    const order = report.lines.map((line) => line.pv[0]);
    const byMove = new Map(report.moves.map((row) => [row[0], row]));
    for (const row of report.moves) if (!lines.has(row[0])) order.push(row[0]);
    const all = report.moves.reduce((sum, row) => sum + (row[2] || 0), 0) || 1;
    const best = byMove.get(order[0]);
    const most = Math.max(report.lines.length, LEAST);
    this.rows.forEach((row, i) => {
      const found = i < most && byMove.get(order[i]);
      row.element.hidden = !found;
      if (!found) return;
      const [move, prior, n = 0, q, , u] = found;
      const line = lines.get(move);
      row.data = { move, pv: line ? line.pv : [move] };
      const text = word(move);
      if (row.move.textContent !== text) {
        row.move.textContent = text;
        row.tick.setAttribute("aria-label", t("search {move}", { move: text }));
      }
      row.tick.checked = chosen.has(move);
      row.element.className = n && best?.[2] ? lossClass((best[3] - q) / 2) : "";
      const texts = [percent(prior), thousands(n), null, n ? q.toFixed(3) : "", n ? u.toFixed(3) : "",
        line && n ? percents(line.wdl).join(" ") : "", line ? tail(line, game) : ""];
      texts.forEach((value, k) => {
        if (value !== null && row.cells[k].textContent !== value) row.cells[k].textContent = value;
      });
      row.bar.style.width = `${(100 * n) / all}%`;
      row.bar.parentElement.style.visibility = n ? "" : "hidden";
      row.share.textContent = n ? percent(n / all) : "";
    });
  }

  clear() {
    for (const row of this.rows) row.element.hidden = true;
  }
}

const tail = (line, game) => [worth(line, game), line.words.slice(1).join(" ")].filter(Boolean).join(": ");
