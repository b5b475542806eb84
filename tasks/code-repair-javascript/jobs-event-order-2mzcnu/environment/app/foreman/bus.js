/** Events by name, told at once to whoever listens. */
export class Notifier {
  #listeners = new Map();

  on = (name, listener) => {
    const listeners = this.#listeners.get(name) ?? [];
    if (!listeners.includes(listener)) listeners.push(listener);
    this.#listeners.set(name, listeners);
    return () => this.off(name, listener);
  };

  once = (name, listener) => {
    const off = this.on(name, (...given) => {
      off();
      listener(...given);
    });
    return off;
  };

  off = (name, listener) => {
    const listeners = this.#listeners.get(name) ?? [];
    const at = listeners.indexOf(listener);
    if (at !== -1) listeners.splice(at, 1);
    return at !== -1;
  };

  emit = (name, ...given) => {
    const listeners = this.#listeners.get(name) ?? [];
    let count = 0;
    for (const listener of [...listeners]) {
      if (!listeners.includes(listener)) continue;
      count += 1;
      listener(...given);
    }
    return count;
  };
}
