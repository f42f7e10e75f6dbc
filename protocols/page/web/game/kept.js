// Games that the browser keeps.

import { Clock } from "./clock.js";
import { KEPT, Match } from "./match.js";

// A number of moves from 0 to all; all where it is no whole number.
function within(ply, all) {
  return Number.isInteger(ply) ? Math.min(Math.max(ply, 0), all) : all;
}

// A game of what the address says, or of what the browser has kept.
export function keptMatch(name, words) {
  const match = new Match(name);
  let kept = {};
  try {
    kept = JSON.parse(localStorage.getItem(KEPT + name)) || {};
  } catch {
    // nothing that can be read
  }
  if (kept.clock) kept.clock = new Clock(kept.clock);
  let { tree, ...rest } = kept;
  if (words?.has("moves") || words?.has("from")) {
    const moves = (words.get("moves") || "").split(" ").filter(Boolean);
    const same = kept.root === words.get("from") && kept.moves?.join(" ") === moves.join(" ");
    if (!same) rest = tree = null;
    const ply = words.has("ply") ? Number(words.get("ply")) : moves.length;
    rest = { ...rest, root: words.get("from"), moves, ply, you: Number(words.get("you") || 0) };
  }
  if (rest) rest.ply = within(rest.ply, rest.moves?.length || 0);
  Object.assign(match, rest);
  if (tree) match.plant(tree);
  return match;
}
