cat > /app/shelve.sh <<'SCRIPT'
#!/bin/bash
# Files the tree below $1 into $2.
set -u
export LC_ALL=C
source=$1
target=$2
if [ ! -d "$source" ]; then
  echo "$source is not a folder" >&2
  exit 2
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
  selected+=("$path")
done
kept=()
kept=("${selected[@]}")
declare -A taken
order=()
number=0
for path in "${kept[@]}"; do
  file=$source/$path
  name=${path##*/}
  number=$((number + 1))
  folder=rest
  case "$path" in */*) folder=${path%%/*} ;; esac
  new=$name
  at=$folder/$new
  count=2
  while [ -n "${taken[$at]+x}" ]; do
    at=$folder/$new.$count
    count=$((count + 1))
  done
  order+=("$at")
  taken[$at]=$path
  mkdir -p -- "$target/$folder"
  cp -- "$file" "$target/$at"
done
for at in "${order[@]}"; do
  file=$target/$at
  origin=${taken[$at]}
  hash=$(sha256sum < "$file"); printf '%s  %s\0' "${hash%% *}" "$at"
done > "$target/index"
exit 0
SCRIPT
bash /app/shelve.sh /app/mailroom /app/cabinet
