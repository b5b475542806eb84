#!/bin/bash
# Sorts the files of SOURCE into TARGET by extension, each content once. Names travel as NUL-ended records.
set -euo pipefail
export LC_ALL=C

if [ $# -ne 2 ] || [ ! -d "$1" ]; then
  echo "usage: tidy.sh SOURCE TARGET, with a SOURCE that is a folder" >&2
  exit 2
fi
source=$1
target=$2

fresh=$(mktemp -d)
trap 'rm -rf -- "$fresh"' EXIT
cd -- "$source"

mapfile -d '' paths < <(find . -type f -printf '%P\0' | sort -z)
facts() { [ ${#paths[@]} -eq 0 ] || printf '%s\0' "${paths[@]}" | xargs -0 "$@"; }
mapfile -d '' sums < <(facts sha256sum -z --)
mapfile -d '' sizes < <(facts stat --printf '%s\0' --)

declare -A seen=()
: > "$fresh/inventory"
for index in "${!paths[@]}"; do
  path=${paths[$index]}
  sum=${sums[$index]:0:64}
  [ -z "${seen[$sum]:-}" ] || continue
  seen[$sum]=1

  name=${path##*/}
  stem=${name%.*}
  extension=${name##*.}
  if [ "$stem" = "$name" ] || [ -z "$stem" ] || [ -z "$extension" ]; then extension=none; fi
  extension=${extension,,}

  place=$name
  number=2
  while [ -e "$fresh/$extension/$place" ]; do
    place=$name.$number
    number=$((number + 1))
  done
  [ -d "$fresh/$extension" ] || mkdir -- "$fresh/$extension"
  cp -- "./$path" "$fresh/$extension/$place"
  printf '%s\t%d\0' "$extension/$place" "${sizes[$index]}" >> "$fresh/inventory"
done

mkdir -p -- "$target"
find "$target" -mindepth 1 -delete
cp -R -- "$fresh/." "$target/"
