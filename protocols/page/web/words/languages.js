// The choice of a language: the browser's, until the reader takes another. Each file language-XX.js is one, which the server makes of languages/XX.json.

import { byId, el } from "../base/dom.js";
import { spoken, word } from "./language.js";

const LANGUAGE = "az-engine language";
const NOTATION = "az-engine notation";

export async function startLanguage() {
  const known = ["en", ...document.documentElement.dataset.languages.split(" ")];
  const wanted = [localStorage.getItem(LANGUAGE), ...navigator.languages.map((code) => code.split("-")[0])];
  const code = wanted.find((each) => known.includes(each)) || "en";
  if (code !== "en") spoken.words = (await import(`./language-${code}.js`)).words;
  spoken.code = document.documentElement.lang = code;
  spoken.kanji = (localStorage.getItem(NOTATION) || (code === "ja" ? "kanji" : "")) === "kanji";
  for (const name of ["aria-label", "title"]) for (const each of document.querySelectorAll(`[${name}]`)) each.setAttribute(name, word(each.getAttribute(name)));
  const choice = byId("language");
  choice.append(...known.map((each) => el("option", { value: each, selected: each === code }, new Intl.DisplayNames([each], { type: "language" }).of(each))));
  choice.addEventListener("change", () => {
    localStorage.setItem(LANGUAGE, choice.value);
    location.reload();
  });
}

export function chooseNotation(kanji) {
  spoken.kanji = kanji;
  localStorage.setItem(NOTATION, kanji ? "kanji" : "");
}
