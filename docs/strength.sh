#!/bin/sh
# Play the games behind docs/strength.md again: docs/strength.sh [chess|shogi|go9|papers ...], all four by default.
# Games that are there are not played again: give the command again after an interruption, or raise GAMES.
#   GAMES=100     games of each match        OUT=runs/strength    where they are kept
#   STOCKFISH, FAIRY, GNUGO: the opponents' commands, found on the PATH (Debian: /usr/games) by default
set -eu
cd "$(dirname "$0")/.."
PATH="$PATH:/usr/games"
GAMES=${GAMES:-100}
OUT=${OUT:-runs/strength}
STOCKFISH=${STOCKFISH:-stockfish}
FAIRY=${FAIRY:-fairy-stockfish}
GNUGO=${GNUGO:-gnugo --mode gtp --chinese-rules --positional-superko --level 10}
OURS="option.Threads=1"

match() { # NAME ARGUMENTS...
    name=$1
    shift
    echo "== $name"
    ./az-engine match "$@" --games "$GAMES" --out "$OUT/$name"
}

# A ladder: 400 visits a move against an engine limited to UCI_Elo at 2,000 nodes, and the raw net without search.
ladder() { # GAME ENGINE-NAME COMMAND
    for elo in 1350 1700 2050 2400; do
        weak="name=$2-$elo option.UCI_LimitStrength=true option.UCI_Elo=$elo option.Threads=1 nodes=2000"
        match "$1-$2-$elo" --game "$1" -A "default name=az-engine-400 visits=400 $OURS" -B "cmd='$3' $weak"
    done
    weak="name=$2-1350 option.UCI_LimitStrength=true option.UCI_Elo=1350 option.Threads=1 nodes=2000"
    match "$1-raw" --game "$1" -A "raw:default name=az-engine-raw $OURS" -B "cmd='$3' $weak"
    ./az-engine rate "$OUT/$1"-* --anchor "$2-1350=1350"
}

chess() {
    ladder chess stockfish "$STOCKFISH"
    match chess-clock -A "default name=az-engine-clock $OURS" -B "cmd='$STOCKFISH' name=stockfish-100-nodes nodes=100 \
        tc=1+0.05 option.Threads=1" --tc 1+0.05
}

shogi() {
    ladder shogi fairy "$FAIRY"
}

go9() {
    match go9-gnugo-1s --game go -A "default name=az-engine-1s movetime=1000 option.threads=1" -B "cmd='$GNUGO' name=gnugo-10"
    match go9-gnugo-100 --game go -A "default name=az-engine-100 visits=100 option.threads=1" -B "cmd='$GNUGO' name=gnugo-10"
    ./az-engine rate "$OUT"/go9-* --anchor gnugo-10
}

# The papers' human openings (Table 2, Figure 3), with colours swapped, against half the visits.
papers() {
    for game in chess shogi; do
        match "$game-paper" --game "$game" -A "default name=az-engine-200 visits=200 $OURS" \
            -B "default name=az-engine-100 visits=100 $OURS" --openings paper
    done
}

[ $# -gt 0 ] || set -- chess shogi go9 papers
for part in "$@"; do
    case $part in
    chess | shogi | go9 | papers) "$part" ;;
    *) echo "strength.sh: there is no part '$part'; choose among chess, shogi, go9, papers" >&2 && exit 2 ;;
    esac
done
