/** Absolute paths inside a sandbox, as texts. Pure: nothing is looked up, and no link is followed. */

/** Whether `path` is `folder` or lies below it; `folder` may end in slashes. Below `/` is everything. */
export function isBelow(path: string, folder: string): boolean {
  const base = folder.replace(/\/+$/, "");
  return path === folder || path === base || path.startsWith(`${base}/`);
}
