// What each move of a game gave away, and the list of the worst.

import { button, clear, el } from "../base/dom.js";
import { t, word } from "../words/language.js";

const COLOURS = { blunder: "blunder", mistake: "poor", inaccuracy: "fair" };

// values: [{score, words, best}] by ply, first player's; kinds: [[least loss, name]]. As in review.py on the server.
export function findMistakes(values, plies, moves, kinds) {
  const found = [];
  for (let ply = 0; ply + 1 < plies.length; ply++) {
    const [before, after] = [values[ply], values[ply + 1]];
    if (!before || !after || [before.best?.[0], "skip"].includes(moves[ply])) continue; // of the best move the search has only changed its mind
    const loss = (before.score - after.score) * (plies[ply].turn === 0 ? 1 : -1);
    const kind = kinds.find(([least]) => loss >= least);
    if (kind) found.push({ ply, loss, kind: kind[1], colour: COLOURS[kind[1]], word: plies[ply + 1].word, better: before.words || [], best: before.best || [], turn: plies[ply].turn, mover: plies[ply].turn ? 1 - before.score : before.score, points: pointsLost(before, after, plies[ply].turn) });
  }
  return found;
}

export const marksOf = (mistakes) => mistakes.map((m) => ({ ply: m.ply + 1, kind: m.colour, title: `${m.word}: ${word(m.kind)}, ${loss(m)}` }));

// What a move of Go has lost in points, as far as it is known.
export function pointsLost(before, after, turn) {
  if (typeof before?.lead !== "number" || typeof after?.lead !== "number") return null;
  return (before.lead - after.lead) * (turn ? -1 : 1);
}

export const loss = (m) => (m.points > 0 ? t("{percent}, {points} points", { percent: percent(m.loss), points: m.points.toFixed(1) }) : percent(m.loss));

export const percent = (x) => `${Math.round(100 * x)} %`;

// The number of the move after so many moves from a start, whose FEN counts on in chess.
export function moveNumber(game, ply, start) {
  if (game !== "chess") return `${ply + 1}.`;
  const [, turn, , , , full] = start.split(" ");
  const half = 2 * full - 2 + (turn === "b") + ply;
  return `${Math.floor(half / 2) + 1}${half % 2 ? "…" : "."}`;
}

// Counts by side, then the mistakes, worst first. onGo gets a mistake: its position, and its better line.
export function mistakeList(element, { mistakes, sides, game, start, done = true, onGo }) {
  if (!mistakes.length) {
    clear(element, el("p", { class: "soft" }, done ? "No mistake found." : "No mistake found so far."));
    return;
  }
  const counts = sides.map((side, turn) => {
    const own = mistakes.filter((m) => m.turn === turn);
    const kinds = [["{n} blunder", "{n} blunders"], ["{n} mistake", "{n} mistakes"], ["{n} inaccuracy", "{n} inaccuracies"]].map(([one, many]) => {
      const n = own.filter((m) => one.endsWith(m.kind)).length;
      return t(n === 1 ? one : many, { n });
    });
    return el("p", { class: "soft" }, el("strong", {}, side), `: ${kinds.join(", ")}`);
  });
  const worst = [...mistakes].sort((a, b) => b.loss - a.loss).slice(0, 30);
  const items = worst.map((m) =>
    el("li", {}, el("button", { type: "button", class: `mistake ${m.colour}`, onclick: () => onGo(m) },
      el("strong", {}, `${moveNumber(game, m.ply, start)} ${m.word}`), ` ${word(m.kind)}, ${loss(m)} `,
      el("span", { class: "soft" }, m.better.length ? t("better {line}", { line: m.better.slice(0, 8).join(" ") }) : ""))));
  clear(element, ...counts, el("ol", { class: "mistakes scrolls" }, ...items));
}
