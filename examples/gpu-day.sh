#!/bin/sh
# A quarter of an hour on a machine with a GPU, without a network: what this engine does there (az-engine bench gpu), then
# a run of 9x9 Go from random weights for the rest of the time. What is worth keeping lies in one folder afterwards: at
# most six files of under 16 MB.
#
#   examples/gpu-day.sh                     12 minutes, into gpu-day/
#   DEVICE=cpu examples/gpu-day.sh          a minute or two, to see that all of it runs
#
# MINUTES  how long all of it may take (12)
# DEVICE   cuda (or cpu)
# SECTIONS of az-engine bench gpu (all but train)
# OUT      the folder (gpu-day)
# PYTHON   the Python, which has torch, numba, onnx, onnxruntime, safetensors and rich (python3); what it lacks, such as
#          chess and sgfmill, in a folder that PYTHONPATH names
set -u

if [ $# -gt 0 ]; then
    [ "$1" = --help ] || [ "$1" = -h ] || { echo "it takes no arguments but --help: settings are variables" >&2; exit 2; }
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    exit
fi
root=$(cd "$(dirname "$0")/.." && pwd)
device=${DEVICE:-cuda}
python=${PYTHON:-python3}
begun=$(date +%s)
export PYTHONPATH="$root/src${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
mkdir -p "${OUT:-gpu-day}" && out=$(cd "${OUT:-gpu-day}" && pwd) || exit
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT

minutes=${MINUTES:-12}
if [ "$device" = cpu ]; then
    set -- --quick --seconds 1
else
    set -- --seconds 16 --limit 120
fi
end=$((begun + minutes * 60))

engine() {
    "$python" -m az_engine "$@"
}

left() { # seconds
    echo $((end - $(date +%s)))
}

# The tests that need a GPU, beside the first sections.
tests=
if [ "$device" != cpu ] && "$python" -c "import pytest, hypothesis" 2>/dev/null; then
    (cd "$root" && exec "$python" -m pytest tests/models/net/test_gpu.py -q -W default -p no:cacheprovider) \
        >"$work/tests.log" 2>&1 &
    tests=$!
fi

# All sections but the run, in half of the time.
engine bench gpu --device "$device" "$@" --total $((minutes * 30)) --out "$out/report.json" \
    --sections "${SECTIONS:-environment,parity,leaves,learner,selfplay,search}" >"$out/report.txt" 2>"$work/bench.log"
echo "bench gpu: status $?, $(left) s left" >>"$work/bench.log"

[ -z "$tests" ] || kill "$tests" 2>/dev/null

# Games of Go that end within seconds, and a net that learns within minutes.
if [ "$device" = cpu ]; then
    set -- --size 5 --preset az,small --blocks 2 --filters 16 --workers 1 --set machine.evaluators=1 \
        --set selfplay.games=8 --set selfplay.visits=8 --set selfplay.max_moves=30 --set loop.first_positions=20 \
        --set window.start=0 --set ladder.share=0 --provider torch --steps 2
else
    set -- --size 9 --preset az,small --device "$device" --set machine.evaluators=1 --provider torch \
        --workers $(($(nproc) > 4 ? $(nproc) - 2 : 2)) --blocks 6 --filters 64 --batch 1024 --precision bf16 \
        --set selfplay.games=128 --set loop.first_positions=20000 --set loop.reuse=4 --set window.start=4000 \
        --set window.games=100000 --set loop.checkpoint_steps=250 --set ladder.share=0.01 \
        --minutes "$(awk "BEGIN { print ($(left) - 40) / 60 }")"
fi
seconds=$(($(left) - 40))
engine train --game go "$@" --out "$work/run" >"$work/train.log" 2>&1 &
run=$!
nvidia-smi --query-gpu=utilization.gpu,memory.used,power.draw --format=csv -l 15 >"$work/nvidia-smi.log" 2>&1 &
smi=$!
(
    sleep $((seconds + 25)) && kill -TERM $run # it saves
    sleep 8 && kill -KILL $run
) >/dev/null 2>&1 &
watch=$!
wait $run
echo "train: status $?, $(left) s left" >>"$work/train.log"
kill $watch $smi 2>/dev/null

{
    for file in "$work/bench.log" "$work/tests.log" "$work/train.log" "$work/nvidia-smi.log" "$work"/run/workers/*.log "$work"/run/workers/*.json; do
        if [ -f "$file" ]; then
            printf '\n== %s\n' "${file#"$work/"}"
            tail -c 20000 "$file"
        fi
    done
} >"$out/log.txt"

cd "$work/run" || exit
mkdir -p checkpoints nets games
newest=$(find nets -name 'net_*.onnx' | sort | tail -n 1)
[ -z "$newest" ] || cp "$newest" "$out/net.onnx"
saved=$(find checkpoints -name 'step-*' | sort | tail -n 2)
packed() { # NAME FILE...: a tar of no more than 15 MB, else nothing
    name=$1
    shift
    tar -czf "$work/$name" "$@" 2>/dev/null
    [ "$(wc -c <"$work/$name")" -gt 15000000 ] || cp "$work/$name" "$out/$name"
}
state=$(find . -maxdepth 1 -type f ! -name '*.lock' && find nets -name '*.json')
# shellcheck disable=SC2086  # names without spaces
packed run.tar.gz $state $saved
# shellcheck disable=SC2086
[ -f "$out/run.tar.gz" ] || packed run.tar.gz $state
some=$(find games examples -type f 2>/dev/null | sort | head -n 4)
# shellcheck disable=SC2086
[ -z "$some" ] || packed games.tar.gz $some
ls -l "$out"
