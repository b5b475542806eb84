export { Keeper } from "./cache.js";
