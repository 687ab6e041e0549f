// Elements from JavaScript. Whatever the API sends is inserted as text and never parsed as HTML; ownersHtml is the exception.

/** Makes an element. Properties that begin with "on" are listeners; null, undefined and false are left out. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** Text that only screen readers get. */
export const hidden = (text) => h("span", { class: "hidden" }, text);

/** A picture whose place is reserved before it is loaded. */
export const picture = (image, size, name = "") =>
  image
    ? h("img", { src: image, alt: name, width: size, height: size, loading: "lazy", decoding: "async" })
    : h("span", { class: "no-picture", "aria-hidden": "true" }, "✦");

const says = byId("says");

/** Announces an outcome, to screen readers as well. */
export function say(text, kind = "good") {
  const toast = h("p", { class: `toast ${kind}` }, text);
  says.append(toast);
  while (says.children.length > 3) says.firstChild.remove();
  setTimeout(() => toast.remove(), 9000);
}

let numbers = 0;

/** A labelled control with room for a message of its own. */
export function field(label, control, note) {
  const id = `f${(numbers += 1)}`;
  control.id = id;
  const message = h("span", { class: "message", id: `${id}m`, role: "alert" }, note ?? "");
  control.setAttribute("aria-describedby", message.id);
  const box = h("p", { class: "field" }, h("label", { for: id }, label), control, message);
  // The API names a field as requests do; a visitor knows it by its label.
  const name = [label].flat(Infinity).map((part) => part.textContent ?? part).join("");
  box.complain = (text) => {
    message.textContent = text.replace(/^The \w+ field\b/, `“${name.trim()}”`);
    if (text) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
  };
  box.control = control;
  return box;
}

export const select = (properties, entries, chosen) =>
  h("select", properties, entries.map(([value, name]) => h("option", { value, selected: value === chosen }, name)));

/** Text from an address, or as it is if it cannot be decoded. */
export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const ALLOWED = new Set("A B BLOCKQUOTE BR CODE EM H1 H2 H3 H4 HR I IMG LI OL P PRE S SMALL STRONG TABLE TBODY TD TH THEAD TR U UL".split(" "));
const SAFE_URL = /^(https?:|mailto:|\/(?!\/)|#)/i;

/**
 * The content of a custom page. It is the one thing that is HTML: the store's owner wrote it in a file of the store. It is
 * parsed in a document of its own, where nothing runs, and only these elements and attributes are copied from there.
 */
export function ownersHtml(html) {
  const copy = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.nodeType !== Node.ELEMENT_NODE || ["SCRIPT", "STYLE"].includes(node.tagName)) return null;
    const children = [...node.childNodes].map(copy);
    if (!ALLOWED.has(node.tagName)) return children;
    const properties = {};
    for (const name of ["href", "src", "alt", "width", "height", "colspan", "rowspan"]) {
      const value = node.getAttribute(name);
      const isUrl = name === "href" || name === "src";
      if (value !== null && (!isUrl || SAFE_URL.test(value))) properties[name] = value;
    }
    return h(node.tagName, properties, children);
  };
  const parsed = new DOMParser().parseFromString(html, "text/html");
  return h("div", { class: "prose" }, [...parsed.body.childNodes].map(copy));
}
