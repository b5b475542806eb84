import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { folderObjects } from "../../src/store/folder-objects.ts";
import { objectsConformance } from "./objects.ts";

objectsConformance("a folder", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sandlot-objects-"));
  return {
    objects: folderObjects(folder),
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
});
