// What every script is made with: elements, texts, and what the browser keeps. Whatever the API sends is inserted as text and never parsed
// as HTML.

const { lang, dataset } = document.documentElement;
const { default: texts } = await import(`../texts/${lang}.js`);
const plural = new Intl.PluralRules(lang);

/** A text of the shop, with values in the places of {0} and {1}. */
export const t = (name, ...values) => (texts[name] ?? name).replace(/\{(\d)\}/g, (_, place) => values[place]);

/** A text about a number, which can have a form for it, such as "units.one". */
export const count = (name, number) => t(texts[`${name}.${plural.select(number)}`] ? `${name}.${plural.select(number)}` : name, number);

/** A text with elements in the places of {0} and {1}. */
export const parts = (name, ...elements) => t(name, "\0" + 0 + "\0", "\0" + 1 + "\0").split("\0").map((part, place) => (place % 2 ? elements[part] : part));

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

/** A picture under its hash is there in several widths. */
const widths = (image) => /[0-9a-f]{32}\.webp$/.test(image) && dataset.widths.trim().split(" ").map((width) => `${image.replace(".webp", `-${width}.webp`)} ${width}w`).join(", ");

/** A picture whose place is reserved before it is loaded. */
export const picture = (image, size) =>
  image
    ? h("img", { src: image, srcset: widths(image), sizes: widths(image) && `${size}px`, alt: "", width: size, height: size, loading: "lazy", decoding: "async" })
    : h("span", { class: size < 72 ? "no-picture small" : "no-picture", "aria-hidden": "true" }, "✦");

/** Announces an outcome, to screen readers as well. The same text is shown once. */
export function say(text, kind = "good") {
  const says = byId("says");
  for (const old of [...says.children]) if (old.textContent === text) old.remove();
  const toast = h("p", { class: `toast ${kind}` }, text);
  says.append(toast);
  while (says.children.length > 3) says.firstChild.remove();
  setTimeout(() => toast.remove(), 9000);
}

/** Announces an outcome on the next page. */
export const sayNext = (text) => tab.set("says", text);

/** Shows a message at a labelled control. The API names a field as requests do; a visitor knows it by its label. */
export function complain(box, text) {
  const [control, message] = [box.querySelector("input, select"), box.querySelector(".message")];
  message.textContent = text.replace(/^The \w+ field\b/, `“${box.querySelector("label").textContent.trim()}”`);
  if (text) control.setAttribute("aria-invalid", "true");
  else control.removeAttribute("aria-invalid");
}

/** For what is not a word, such as what goes to the game's console: phones must not change it. */
export const AS_TYPED = { autocapitalize: "none", autocorrect: "off", spellcheck: "false", autocomplete: "off" };

let numbers = 0;

/** A labelled control with room for a message of its own. */
export function field(label, control, note) {
  const id = `f${(numbers += 1)}`;
  control.id = id;
  control.setAttribute("aria-describedby", `${id}m`);
  const box = h("p", { class: "field" }, h("label", { for: id }, label), control, h("span", { class: "message", id: `${id}m`, role: "alert" }, note ?? ""));
  box.complain = (text) => complain(box, text);
  /** Says below the control what belongs into it. */
  box.hint = (text) => {
    control.setAttribute("aria-describedby", `${id}h ${id}m`);
    control.after(h("span", { class: "soft", id: `${id}h` }, text));
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

/**
 * A storage of the browser; `find` throws if it is blocked. Without it, because a setting blocks it or the disk is full, what is set is kept
 * for the life of the page.
 */
function area(find) {
  const memory = new Map();
  let storage = null;
  try {
    storage = find();
    storage.setItem("kept", "");
    storage.removeItem("kept");
  } catch {
    storage = null;
  }
  const get = (name) => (memory.has(name) ? memory.get(name) : storage?.getItem(name) ?? null);
  const remove = (name) => {
    memory.delete(name);
    storage?.removeItem(name);
  };
  const set = (name, value) => {
    remove(name);
    try {
      storage.setItem(name, value);
    } catch {
      memory.set(name, value);
    }
  };
  return {
    /** Whether what is set outlives the page. */
    isLasting: storage !== null,
    get,
    set,
    remove,
    /** A value that is not text; null if there is none, or if it is not what the shop wrote. */
    read(name) {
      try {
        return JSON.parse(get(name));
      } catch {
        return null;
      }
    },
    write: (name, value) => set(name, JSON.stringify(value)),
  };
}

/** Kept until the visitor clears it. */
export const kept = area(() => localStorage);
/** Kept for this tab. */
export const tab = area(() => sessionStorage);
