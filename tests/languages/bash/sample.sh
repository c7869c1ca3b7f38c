#!/usr/bin/env bash
source "$(dirname "$0")/lib.sh"
. ./common.sh

# Where it all goes.
TARGET=${1:-/tmp}
readonly LIMIT=10
export PATH="$TARGET/bin:$PATH" LANG
declare -A seen
declare -i total=0
count=1; count=2; count+=3
alias ll='ls -l' la="ls -A"

# Greets.
greet() {
  local name=$1 greeting
  greeting="Hello, ${name:-world}"
  if [ -n "$name" ] && [[ $count -gt 1 || -z $greeting ]]; then
    echo "$greeting $(date +%s) `whoami`"
  elif true; then
    return 1
  fi
  for word in "$@"; do seen[$word]=1; done
  for ((i = 0; i < 3; i++)); do :; done
  while read -r line; do total=$((total + 1)); done
  case $name in a | b) greet other ;; *) log::write "$name" ;; esac
  printf '%s hidden\n' "$((count > 1 ? 1 : 0))"
  cat <<EOF
here is $TARGET
EOF
  unset greeting
  ((total++))
}

function log::write { LEVEL=1 logger "$1" || exit; }
function both() (greet)
if test -d "$TARGET"; then found=1; else found=2; fi

# What the grammar does not know must not hide what follows.
(( ! $+commands[kops] )) || return
spoilt="${${(M)0:#/*}:-$PWD/$0}"
function after {
  greet again
}
indented() { :; }
@test "adds two numbers" {
  in_test=1
  run add "$in_test"
}
if [ -n "$x" ]; then local only_here=1; fi
