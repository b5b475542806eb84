/** A bounded memory of the most recently used entries. */
export interface Recent<K, V> {
  /** Undefined when unknown; a hit makes the entry the youngest. */
  get(key: K): V | undefined;
  /** Forgets the entry least recently used when there are more than the limit. */
  set(key: K, value: V): void;
  delete(key: K): void;
}

export function recent<K, V>(entriesMax: number): Recent<K, V> {
  const entries = new Map<K, V>();
  const set = (key: K, value: V): void => {
    entries.delete(key);
    entries.set(key, value);
    if (entries.size <= entriesMax) return;
    for (const oldest of entries.keys()) {
      entries.delete(oldest);
      break;
    }
  };
  return {
    get(key) {
      const value = entries.get(key);
      if (value !== undefined) set(key, value);
      return value;
    },
    set,
    delete: (key) => {
      entries.delete(key);
    },
  };
}
