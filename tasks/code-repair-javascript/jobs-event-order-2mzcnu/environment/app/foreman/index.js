export { Notifier } from "./bus.js";
export { processAll } from "./map.js";
export { quantile } from "./quantile.js";
export { Pool } from "./queue.js";
export { untilWell } from "./retry.js";
