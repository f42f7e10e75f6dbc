// Light or dark: as the system says, until the user chooses.

import { byId } from "./dom.js";

const KEPT = "az-engine theme";
const root = document.documentElement;

export function startTheme() {
  const kept = localStorage.getItem(KEPT);
  if (kept) root.dataset.theme = kept;
  byId("theme").addEventListener("click", () => {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
    localStorage.setItem(KEPT, root.dataset.theme);
  });
}
