// Elements of HTML and SVG, never made from text. Their words are in the reader's language.

import { word } from "../words/language.js";

const TEXTS = ["aria-label", "title", "placeholder", "label"]; // attributes that are read
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : TEXTS.includes(name) ? word(value) : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false).map((child) => (typeof child === "string" ? word(child) : child)));
  return element;
}

export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// Give an element new children.
export function clear(element, ...children) {
  element.replaceChildren();
  return fill(element, {}, children);
}

export function button(text, onclick, more = {}) {
  return el("button", { type: "button", onclick, ...more }, text);
}

// A labelled choice; options are [value, text], or [label, options] for a group.
export function choice(label, options, value, onchange, more = {}) {
  const make = ([v, text]) => (Array.isArray(text)
    ? el("optgroup", { label: v }, ...text.map(make))
    : el("option", { value: v, selected: String(v) === String(value) }, text));
  const select = el("select", more, ...options.map(make));
  select.addEventListener("change", () => onchange(select.value));
  return el("label", { class: "field" }, el("span", {}, label), select);
}

export const byId = (id) => document.getElementById(id);
