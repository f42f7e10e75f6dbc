// Sentences about the game.

export const sideName = (app, side) => app.hello?.sides[side] || ["First", "Second"][side];

// How a game ended, in a sentence.
export function result(app, { winner, why, lead }) {
  if (winner === null || winner === undefined) {
    return { time: "Draw: the time is out, and a bare king cannot mate", stopped: "The game was stopped", rule: "Draw by the rules" }[why] || "Draw";
  }
  const name = sideName(app, winner);
  const reasons = {
    mate: `${name} wins by mate`,
    resigned: `${sideName(app, 1 - winner)} resigns: ${name} wins`,
    declared: `${name} wins by declaration`,
    time: `${sideName(app, 1 - winner)} has run out of time: ${name} wins`,
    score: `${name} wins by ${Math.abs(lead)} points`,
  };
  return reasons[why] || `${name} wins by the rules`;
}
