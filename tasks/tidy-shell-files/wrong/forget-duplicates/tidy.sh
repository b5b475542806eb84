#!/bin/bash
# Sorts the files of SOURCE into TARGET by extension, each content once.
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
declare -A seen=()
: > "$fresh/inventory"

while IFS= read -r -d '' path; do
  sum=$(sha256sum < "$source/$path")
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
  mkdir -p -- "$fresh/$extension"
  cat < "$source/$path" > "$fresh/$extension/$place"
  printf '%s\t%d\0' "$extension/$place" "$(stat -c %s -- "$fresh/$extension/$place")" >> "$fresh/inventory"
done < <(cd -- "$source" && find . -type f -printf '%P\0' | sort -z)

mkdir -p -- "$target"
find "$target" -mindepth 1 -delete
cp -R -- "$fresh/." "$target/"
