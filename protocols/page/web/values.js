// Values from one side's view to the first player's.

// Chances of the first player, from a report for the side to move.
export function firstWdl(report, turn) {
  const wdl = report.lines[0]?.wdl || [0.5, 0, 0.5];
  return turn === 0 ? wdl : [...wdl].reverse();
}

// Percents that add up to 100.
export const percents = ([win, , loss], w = Math.round(100 * win), l = Math.min(Math.round(100 * loss), 100 - w)) => [w, 100 - w - l, l];

// What is known of each ply: {ply, score, lead}.
export const points = (match) => match.values.slice(0, match.moves.length + 1).map((value, ply) => value && { ...value, ply });

// 12345 as 12,345.
export const thousands = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
