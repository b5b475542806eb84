export { Store } from "./cache.js";
