import { Scheduler } from "./queue.js";

/** The results of work(item, index) for every item, in the order of the items. */
export function eachLimited(items, limit, work) {
  const queue = new Scheduler({ limit });
  const jobs = [];
  let index = 0;
  for (const item of items) {
    jobs.push(queue.submit(String(index), () => work(item, index)));
    index += 1;
  }
  return Promise.all(jobs);
}
