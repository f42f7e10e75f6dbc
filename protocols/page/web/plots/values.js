// Values from one side's view to the first player's.

import { t } from "../words/language.js";

// Chances of the first player, from a report for the side to move.
export function firstWdl(report, turn) {
  const wdl = report.lines[0]?.wdl || [0.5, 0, 0.5];
  return turn === 0 ? wdl : [...wdl].reverse();
}

// Percents that add up to 100.
export const percents = ([win, , loss], w = Math.round(100 * win), l = Math.min(Math.round(100 * loss), 100 - w)) => [w, 100 - w - l, l];

// What is known of each ply: {ply, score, lead}.
export const points = (match) => match.values.slice(0, match.moves.length + 1).map((value, ply) => value && { ...value, ply });

// What a line is worth to a side, as people write it: points in Go, pawns in chess, hundredths of them in shogi.
export function worth({ mate, lead, cp }, game, sign = 1) {
  if (mate) {
    const n = Math.abs(mate); // moves of one side; shogi counts those of both
    return t(mate * sign > 0 ? "mate in {n}" : "mated in {n}", { n: game === "shogi" ? 2 * n - (mate > 0) : n });
  }
  if (lead === null && game === "go") return ""; // a net that knows no points
  const [value, digits] = lead !== null ? [lead, 1] : game === "chess" ? [cp / 100, 2] : [cp, 0];
  return `${value * sign > 0 ? "+" : ""}${(value * sign).toFixed(digits)}`;
}

// 12345 as 12,345.
export const thousands = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
