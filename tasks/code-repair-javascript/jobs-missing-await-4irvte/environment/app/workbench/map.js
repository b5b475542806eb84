import { WorkQueue } from "./queue.js";

/** The results of work(item, index) for every item, in the order of the items. */
export function mapAll(items, limit, work) {
  const queue = new WorkQueue({ limit });
  const jobs = [];
  for (const [index, item] of [...items].entries()) {
    jobs.push(queue.enqueue(String(index), () => work(item, index)));
  }
  return Promise.all(jobs);
}
