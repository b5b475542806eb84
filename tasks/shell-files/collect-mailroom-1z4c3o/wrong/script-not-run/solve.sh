cat > /app/collect.sh <<'SCRIPT'
#!/bin/bash
# Files the tree below $1 into $2.
set -u
export LC_ALL=C
source=$1
target=$2
if [ ! -d "$source" ]; then
  echo "$source is not a folder" >&2
  exit 3
fi
rm -rf -- "$target"
mkdir -p -- "$target"
paths=()
while IFS= read -r -d '' path; do
  paths+=("$path")
done < <(cd -- "$source" && find . -type f -printf '%P\0' 2>/dev/null | sort -z)
first_line() { head -c 4096 -- "$1" | tr -d '\000' | head -n 1; }
selected=()
for path in "${paths[@]}"; do
  file=$source/$path
  name=${path##*/}
  case "$(first_line "$file")" in *URGENT*) ;; *) continue ;; esac
  selected+=("$path")
done
kept=()
declare -A last
for path in "${selected[@]}"; do
  hash=$(sha256sum < "$source/$path")
  last[$hash]=$path
done
for path in "${selected[@]}"; do
  hash=$(sha256sum < "$source/$path")
  [ "${last[$hash]}" = "$path" ] && kept+=("$path")
done
declare -A taken
order=()
number=0
for path in "${kept[@]}"; do
  file=$source/$path
  name=${path##*/}
  number=$((number + 1))
  folder=rest
  case "$path" in */*) folder=${path%%/*} ;; esac
  printf -v new '%04d-%s' "$number" "$name"
  at=$folder/$new
  if [ -n "${taken[$at]+x}" ]; then
    [ "$(stat -c %s -- "$file")" -gt "$(stat -c %s -- "$target/$at")" ] || continue
  else
    order+=("$at")
  fi
  taken[$at]=$path
  mkdir -p -- "$target/$folder"
  cp -- "$file" "$target/$at"
done
for at in "${order[@]}"; do
  file=$target/$at
  origin=${taken[$at]}
  hash=$(sha256sum < "$file"); printf '%s  %s\0' "${hash%% *}" "$at"
done > "$target/inventory"
exit 0
SCRIPT
