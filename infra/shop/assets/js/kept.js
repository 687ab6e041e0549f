// What this browser keeps for the shop. Without its storage, which a setting can block and a full disk can refuse, it is kept for the
// life of the page.

/** A storage of the browser; `find` throws if it is blocked. */
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
