// Sentences about the game.

import { t, word } from "./language.js";

export const sideName = (app, side) => app.hello?.sides[side] || ["First", "Second"][side];

// How a game ended, in a sentence.
export function result(app, { winner, why, lead }) {
  if (winner === null || winner === undefined) {
    return word({ time: "Draw: the time is out, and a bare king cannot mate", stopped: "The game was stopped", rule: "Draw by the rules" }[why] || "Draw");
  }
  const fields = { winner: sideName(app, winner), loser: sideName(app, 1 - winner), points: Math.abs(lead) };
  const reasons = {
    mate: "{winner} wins by mate",
    resigned: "{loser} resigns: {winner} wins",
    declared: "{winner} wins by declaration",
    time: "{loser} has run out of time: {winner} wins",
    score: "{winner} wins by {points} points",
  };
  return t(reasons[why] || "{winner} wins by the rules", fields);
}
