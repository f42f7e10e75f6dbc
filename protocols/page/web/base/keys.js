// Keys outside the board and fields: arrows step through the game, f turns the board.

export function takeKeys(app) {
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, textarea, .board") || event.altKey || event.ctrlKey || event.metaKey) return;
    const { ply, moves } = app.match;
    const steps = { ArrowLeft: ply - 1, ArrowRight: ply + 1, Home: 0, End: moves.length };
    if (event.key in steps) app.go(steps[event.key]);
    else if (event.key === "f") app.flip();
    else return;
    event.preventDefault();
  });
}
