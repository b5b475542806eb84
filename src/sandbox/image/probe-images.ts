/** What `sandlot doctor` says of images: which sources this machine can build from, and what would add the rest. */
import type { ProbeLine } from "../../core/sandbox.ts";
import { userIds } from "../user-ids.ts";
import { canBuildDebian } from "./source-debian.ts";
import { installedEngines } from "./source-engine.ts";

export function imagesLine(): ProbeLine {
  const engines = installedEngines().map(({ name }) => name);
  const hasPackages = canBuildDebian();
  /* Only root may give files to the ids of a range from outside it. */
  const isRange = userIds().kind === "range";
  const served = [
    "host",
    ...(isRange ? [] : ["folder", "tar"]),
    ...(hasPackages && !isRange ? ["debian and recipe (mmdebstrap)"] : []),
    ...(engines.length > 0 && !isRange ? [`oci and dockerfile (${engines.join(", ")})`] : []),
  ];
  const remedies = [
    ...(isRange ? ["Build images as root, or with SANDLOT_IDS=self."] : []),
    ...(hasPackages ? [] : ["For Debian packages and recipes: apt-get install mmdebstrap."]),
    ...(engines.length > 0 ? [] : ["For container images and Dockerfiles: apt-get install buildah."]),
  ];
  return {
    name: "images",
    required: false,
    ok: remedies.length === 0,
    evidence: served.join(", "),
    remedy: remedies.length === 0 ? null : remedies.join(" "),
  };
}
