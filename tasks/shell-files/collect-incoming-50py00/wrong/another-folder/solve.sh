cat > /app/collect.sh <<'SCRIPT'
#!/bin/bash
# Files the tree below $1 into $2.
set -u
export LC_ALL=C
source=$1
target=$2
if [ ! -d "$source" ]; then
  echo "$source is not a folder" >&2
  exit 5
fi
rm -rf -- "$target"
mkdir -p -- "$target"
paths=()
while IFS= read -r -d '' path; do
  case "/$path" in */.*) continue ;; esac
  paths+=("$path")
done < <(cd -- "$source" && find . -type f -printf '%P\0' 2>/dev/null | sort -z)
first_line() { head -c 4096 -- "$1" | tr -d '\000' | head -n 1; }
selected=()
for path in "${paths[@]}"; do
  file=$source/$path
  name=${path##*/}
  selected+=("$path")
done
kept=()
declare -A seen
for path in "${selected[@]}"; do
  hash=$(sha256sum < "$source/$path")
  [ -n "${seen[$hash]+x}" ] && continue
  seen[$hash]=1
  kept+=("$path")
done
declare -A taken
order=()
number=0
for path in "${kept[@]}"; do
  file=$source/$path
  name=${path##*/}
  number=$((number + 1))
  folder=unknown
  case "$path" in */*) folder=${path%%/*} ;; esac
  new=$name
  case "$path" in */*) parent=${path%/*}; new=${parent##*/}-$name ;; esac
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
  printf '%s\t%s\0' "$at" "$(stat -c %s -- "$file")"
done > "$target/inventory"
exit 0
SCRIPT
bash /app/collect.sh /app/incoming /app/library
