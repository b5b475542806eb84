import { openStore } from "../../src/store/open-store.ts";
import { storeConformance } from "./store.ts";

storeConformance("in SQLite and a folder", (folder, runtime) => openStore({ folder, runtime, mode: "owner" }));
