export { Signals } from "./bus.js";
export { eachLimited } from "./map.js";
export { rankedValue } from "./quantile.js";
export { Scheduler } from "./queue.js";
export { persist } from "./retry.js";
