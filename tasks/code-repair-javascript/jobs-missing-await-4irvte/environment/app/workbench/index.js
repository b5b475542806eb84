export { Bus } from "./bus.js";
export { mapAll } from "./map.js";
export { percentile } from "./quantile.js";
export { WorkQueue } from "./queue.js";
export { tryAgain } from "./retry.js";
