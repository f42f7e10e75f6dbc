// The place in the address and in the browser's history: a game, its moves, a view. Back leads to the place before.

export class Address {
  // onVisit: gets the game and the view of a place that the user has returned to.
  constructor(onVisit) {
    this.onVisit = onVisit;
    this.places = new Map(); // {match, view} by the number in the history's entry
    this.next = Date.now(); // so that numbers of an earlier load of the page are not taken for ours
    this.here = null;
    this.known = location.hash;
    addEventListener("popstate", (event) => this.visit(event.state));
  }

  // What the page shows now: another game or view is a new place. Not where the user has just put an address of his own.
  write(match, view) {
    if (location.hash !== this.known) return;
    const words = new URLSearchParams({ game: match.name });
    if (match.root) words.set("from", match.root);
    words.set("moves", match.moves.join(" "));
    if (match.ply !== match.moves.length) words.set("ply", match.ply);
    if (match.you) words.set("you", match.you);
    if (view !== "play") words.set("view", view);
    const last = this.here;
    if (last?.match !== match || last.view !== view) this.here = { match, view, number: this.next++ };
    this.places.set(this.here.number, this.here);
    history[last && last !== this.here ? "pushState" : "replaceState"](this.here.number, "", `#${words}`);
    this.known = location.hash;
  }

  visit(number) {
    const place = this.places.get(number);
    if (!place) {
      location.reload(); // a link, or a place of an earlier load: the address says what it is
      return;
    }
    this.here = place;
    this.known = location.hash;
    this.onVisit(place);
  }
}
