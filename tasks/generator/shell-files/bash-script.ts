/** The job as a bash script, and with one part done wrongly: the oracle and the wrong solutions. */
import type { Job, Place, Rename, Report } from "./job.ts";

/** What a wrong solution does otherwise. */
export interface Flaw {
  readonly splitsOnLines?: boolean;
  readonly followsLinks?: boolean;
  readonly flipsHidden?: boolean;
  readonly overwrites?: boolean;
  readonly takesAll?: boolean;
  readonly keepsDuplicates?: boolean;
  readonly flipsDedup?: boolean;
  readonly otherPlace?: Place;
  readonly otherRename?: Rename;
  readonly otherReport?: Report;
  readonly endsByLines?: boolean;
  readonly isNotRepeatable?: boolean;
  readonly exitsOne?: boolean;
}

export function bashScript(job: Job, flaw: Flaw = {}): string {
  const { reportName, exitCode, collision } = job;
  const place = flaw.otherPlace ?? job.place;
  const rename = flaw.otherRename ?? job.rename;
  const report = flaw.otherReport ?? job.report;
  const [ending, zero, read] = flaw.splitsOnLines ? ["\\n", "", "read -r"] : ["\\0", "z", "IFS= read -r -d ''"];
  const takesHidden = flaw.flipsHidden ? !job.takesHidden : job.takesHidden;
  const dedup = flaw.keepsDuplicates
    ? "none"
    : flaw.flipsDedup
      ? job.dedup === "first"
        ? "last"
        : "first"
      : job.dedup;
  return `#!/bin/bash
# Files the tree below $1 into $2.
set -u
export LC_ALL=C
source=$1
target=$2
if [ ! -d "$source" ]; then
  echo "$source is not a folder" >&2
  exit ${flaw.exitsOne ? 1 : exitCode}
fi
${flaw.isNotRepeatable ? "" : `rm -rf -- "$target"\n`}mkdir -p -- "$target"
paths=()
while ${read} path; do
${takesHidden ? "" : '  case "/$path" in */.*) continue ;; esac\n'}  paths+=("$path")
done < <(cd -- "$source" && find ${flaw.followsLinks ? "-L " : ""}. -type f -printf '%P${ending}' 2>/dev/null | sort${zero === "" ? "" : " -z"})
first_line() { head -c 4096 -- "$1" | tr -d '\\000' | head -n 1; }
selected=()
for path in "\${paths[@]}"; do
  file=$source/$path
  name=\${path##*/}
${flaw.takesAll ? "" : selection(job)}  selected+=("$path")
done
kept=()
${dedupLines(dedup)}
declare -A taken
order=()
number=0
for path in "\${kept[@]}"; do
  file=$source/$path
  name=\${path##*/}
  number=$((number + 1))
${placeLines(place, job.other)}
${renameLines(rename)}
  at=$folder/$new
${flaw.overwrites ? `  if [ -z "\${taken[$at]+x}" ]; then order+=("$at"); fi\n` : collisionLines(collision)}  taken[$at]=$path
  mkdir -p -- "$target/$folder"
  cp -- "$file" "$target/$at"
done
for at in "\${order[@]}"; do
  file=$target/$at
  origin=\${taken[$at]}
  ${recordLine(report, flaw.endsByLines ? "\\n" : "\\0")}
done >${flaw.isNotRepeatable ? ">" : ""} "$target/${reportName}"
exit 0
`;
}

function selection({ select }: Job): string {
  switch (select.kind) {
    case "all":
      return "";
    case "extensions":
      return `  ext=
  case "$name" in ?*.*) ext=\${name##*.}; ext=\${ext,,} ;; esac
  case "$ext" in ${select.of.join("|")}) ;; *) continue ;; esac
`;
    case "bytes-min":
      return `  [ "$(stat -c %s -- "$file")" -ge ${select.bytes} ] || continue\n`;
    case "first-line":
      return `  case "$(first_line "$file")" in *${select.word}*) ;; *) continue ;; esac\n`;
  }
}

function dedupLines(dedup: Job["dedup"]): string {
  if (dedup === "none") return `kept=("\${selected[@]}")`;
  const hash = `  hash=$(sha256sum < "$source/$path")\n`;
  if (dedup === "first") {
    return `declare -A seen
for path in "\${selected[@]}"; do
${hash}  [ -n "\${seen[$hash]+x}" ] && continue
  seen[$hash]=1
  kept+=("$path")
done`;
  }
  return `declare -A last
for path in "\${selected[@]}"; do
${hash}  last[$hash]=$path
done
for path in "\${selected[@]}"; do
${hash}  [ "\${last[$hash]}" = "$path" ] && kept+=("$path")
done`;
}

function placeLines(place: Place, other: string): string {
  switch (place.kind) {
    case "extension":
      return `  folder=${other}
  case "$name" in ?*.?*) folder=\${name##*.}; folder=\${folder,,}; [ -n "$folder" ] || folder=${other} ;; esac`;
    case "letter":
      return `  folder=\${name:0:1}
  case "$folder" in [a-zA-Z]) folder=\${folder,,} ;; *) folder=${other} ;; esac`;
    case "size":
      return `  size=$(stat -c %s -- "$file")
  folder=medium
  [ "$size" -lt ${place.small} ] && folder=small
  [ "$size" -ge ${place.large} ] && folder=large`;
    case "folder":
      return `  folder=${other}
  case "$path" in */*) folder=\${path%%/*} ;; esac`;
    case "field":
      return `  folder=$(first_line "$file"; echo x)
  folder=\${folder%x}; folder=\${folder%$'\\n'}
  if [[ $folder =~ ^${place.field}:\\ ([a-z]+)$ ]]; then folder=\${BASH_REMATCH[1]}; else folder=${other}; fi`;
  }
}

function renameLines(rename: Rename): string {
  switch (rename) {
    case "none":
      return "  new=$name";
    case "lower":
      return `  new=\${name,,}`;
    case "underscores":
      return `  new=\${name// /_}`;
    case "numbered":
      return `  printf -v new '%04d-%s' "$number" "$name"`;
    case "folder-prefix":
      return `  new=$name
  case "$path" in */*) parent=\${path%/*}; new=\${parent##*/}-$name ;; esac`;
  }
}

function collisionLines(collision: Job["collision"]): string {
  if (collision === "larger") {
    return `  if [ -n "\${taken[$at]+x}" ]; then
    [ "$(stat -c %s -- "$file")" -gt "$(stat -c %s -- "$target/$at")" ] || continue
  else
    order+=("$at")
  fi
`;
  }
  const next = collision === "suffix" ? "$folder/$new.$count" : "$folder/$count-$new";
  return `  count=2
  while [ -n "\${taken[$at]+x}" ]; do
    at=${next}
    count=$((count + 1))
  done
  order+=("$at")
`;
}

function recordLine(report: Report, ending: string): string {
  const size = '"$(stat -c %s -- "$file")"';
  switch (report) {
    case "path-size":
      return `printf '%s\\t%s${ending}' "$at" ${size}`;
    case "size-path":
      return `printf '%s %s${ending}' ${size} "$at"`;
    case "hash-path":
      return `hash=$(sha256sum < "$file"); printf '%s  %s${ending}' "\${hash%% *}" "$at"`;
    case "path-origin":
      return `printf '%s\\t%s${ending}' "$at" "$origin"`;
  }
}
