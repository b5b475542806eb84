export { parseQuery, writeQuery } from "./query.js";
export { Router } from "./router.js";
export { anchorOf } from "./slug.js";
