export { Notifier } from "./bus.js";
export { eachLimited } from "./map.js";
export { quantile } from "./quantile.js";
export { WorkQueue } from "./queue.js";
export { untilWell } from "./retry.js";
