#!/bin/bash
# Runs each planted fault under the four tools of NVIDIA's compute-sanitizer, on a GPU, and prints what they and the
# emulator find, as a table. compute-sanitizer is in the CUDA toolkit, or named by COMPUTE_SANITIZER; the program is
# `target/release/planted-faults`, or the first argument. Exits with 1 unless the emulator finds all.
set -u
sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}
program=${1:-target/release/planted-faults}
seconds=${SECONDS_EACH:-60}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# What a tool says: its first complaint, the launch's error, that it hangs, or nothing.
found() {
    local tool=$1 number=$2 text=$folder/text status
    timeout --kill-after=5 "$seconds" "$sanitizer" --tool "$tool" --print-limit 1 --error-exitcode 99 \
        "$program" "$number" >"$text" 2>&1
    status=$?
    if [ $status = 124 ] || [ $status = 137 ]; then
        echo "hangs"
    elif grep -q "^========= [A-Z]" "$text" && [ $status = 99 ]; then
        grep -m1 -oE "Invalid [a-z_ ]+of size|Uninitialized [a-z_ ]+ read|[Rr]ace reported|[Bb]arrier error|[Dd]ivergent thread|[Mm]isaligned|Invalid arguments|Program hit [A-Za-z_]+|hazard|Invalid|Error" "$text" || echo "found"
    elif [ $status != 0 ]; then
        echo "launch fails"
    else
        echo "-"
    fi
}

"$program" emulate >"$folder/emulator" || exit 1
all=0
emulated=0
any=0
printf '| | fault | emulator | memcheck | racecheck | initcheck | synccheck |\n| --- | --- | --- | --- | --- | --- | --- |\n'
while IFS=$'\t' read -r number what report; do
    number=${number// /}
    all=$((all + 1))
    [ "$report" = nothing ] || emulated=$((emulated + 1))
    row="| $number | $what | $report |"
    is_found=0
    for tool in memcheck racecheck initcheck synccheck; do
        said=$(found "$tool" "$number")
        [ "$said" = "-" ] || is_found=1
        row="$row $said |"
    done
    any=$((any + is_found))
    echo "$row"
done <"$folder/emulator"
echo
echo "of $all faults the emulator finds $emulated, compute-sanitizer $any (with those that hang or fail)"
[ "$emulated" -eq "$all" ]
