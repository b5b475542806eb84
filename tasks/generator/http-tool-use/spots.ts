/** Where in a list the records lie that a request is about: never at places that another draw of the kind shares. */
import type { Random } from "../../../src/core/random.ts";
import { PAGE } from "./request.ts";

interface Spots<T> {
  /** Puts what is given on the first page, at a place that is still free; gives the place. */
  first(given: T): number;
  /** The same after the first page. */
  later(given: T): number;
  at(index: number): T | undefined;
}

/** Free places of a list of `count` records, more than two pages' worth of which is not to be placed. */
export function spotsOf<T>(random: Random, count: number): Spots<T> {
  const places = Array.from({ length: count }, (_, index) => index);
  const onFirst = random.fork("first").shuffle(places.slice(0, PAGE));
  const after = random.fork("later").shuffle(places.slice(PAGE));
  const placed = new Map<number, T>();
  const put = (free: number[], given: T): number => {
    const index = free.pop();
    if (index === undefined) throw new RangeError("no place is free");
    placed.set(index, given);
    return index;
  };
  return {
    first: (given) => put(onFirst, given),
    later: (given) => put(after, given),
    at: (index) => placed.get(index),
  };
}
