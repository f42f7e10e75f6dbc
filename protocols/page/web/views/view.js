// What stands beside the board: one search at most, which ends when the position changes.

export class View {
  listed = true; // among the views in the header
  comments = false; // those of a loaded game are shown

  constructor(app) {
    this.app = app;
    this.asked = 0; // the search that runs
    this.above = 1; // cards above the moves of the game
  }

  // Search; hear gets what is said until the answer, or the fault.
  ask(fields, hear) {
    const asked = this.app.link.ask("search", { net: this.app.match.net, ...fields }, (said) => {
      if (asked !== this.asked) return;
      if (said.is === "answer" || said.is === "error") this.asked = 0;
      if (said.is === "begun") this.app.setNet(said.net);
      if (said.is === "note" || said.is === "error") this.app.note(said.text);
      hear(said);
    });
    this.asked = asked;
  }

  // Buttons under the board.
  buttons() {
    return [];
  }

  // Whether the user may move for a side.
  lets() {
    return true;
  }

  // Whether a move is taken as something else than a move of the game.
  takes() {
    return false;
  }

  // A place on the board is chosen when no move may be played; returns whether that means anything.
  pick() {
    return false;
  }

  status() {
    return "";
  }

  draw() {}

  // The position is known.
  ready() {
    this.draw();
  }

  // The user has moved.
  played() {
    this.ready();
  }

  // The position changes, or another view is shown.
  hide() {
    if (this.asked) this.app.link.stop();
    this.rest();
  }

  // The server has gone.
  lost() {
    this.rest();
  }

  // No search runs any more.
  rest() {
    this.asked = 0;
  }
}
