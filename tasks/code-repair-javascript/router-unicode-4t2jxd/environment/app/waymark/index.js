export { queryOf, formatQuery } from "./query.js";
export { Routes } from "./router.js";
export { slug } from "./slug.js";
