#!/bin/sh
# Play the games behind docs/results/strength.md again: docs/results/strength.sh [PART ...]; without a part, all but
# `time` and `tables`.
#   chess shogi       a ladder of weakened opponents at fixed visits, the raw net, and a clock
#   go9               GNU Go at level 10, at fixed visits
#   papers            the papers' human openings
#   gauntlet          chess, MOVE s a move, against engines of Debian that CCRL rates
#   second            MOVE, 1 s, a move: chess and shogi against a ladder, 9x9 Go against GNU Go
#   time              Elo against time a move for each game, and its picture, docs/figures/time.svg
#   tables            write the tables of docs/results/strength.md from the result files
# Games that are there are not played again: give the command again after an interruption, or raise GAMES.
#   GAMES=100     games of each match        OUT=runs/strength    where they are kept
#   MOVE=1        seconds a move in `second`; what is won with less is won with a second, too
#   FAST=1        in `second` weakened opponents search no deeper than where they choose their move (see strength.md)
#   THREADS=2     of ours in `second` and `time`
#   CONCURRENCY=1: games at a time in `second`; THREADS=1 CONCURRENCY=2 plays twice as many games in the same time, with
#                 half of the computing for each move
#   TIME_GAMES=20, DOUBLINGS=4, BASE=0.05: of `time`
#   STOCKFISH, FAIRY, GNUGO: the opponents, found on the PATH (Debian: /usr/games)    AZ_ENGINE=./az-engine
set -eu
cd "$(dirname "$0")/../.."
PATH="$PATH:/usr/games"
AZ_ENGINE=${AZ_ENGINE:-./az-engine}
GAMES=${GAMES:-100}
OUT=${OUT:-runs/strength}
MOVE=${MOVE:-1}
FAST=${FAST:-}
THREADS=${THREADS:-2}
CONCURRENCY=${CONCURRENCY:-1}
TIME_GAMES=${TIME_GAMES:-20}
DOUBLINGS=${DOUBLINGS:-4}
BASE=${BASE:-0.05}
STOCKFISH=${STOCKFISH:-stockfish}
FAIRY=${FAIRY:-fairy-stockfish}
GNUGO=${GNUGO:-gnugo --mode gtp --chinese-rules --positional-superko --level 10}
OURS="option.Threads=1"

match() { # NAME ARGUMENTS...
    name=$1
    shift
    echo "== $name"
    "$AZ_ENGINE" match "$@" --games "$GAMES" --out "$OUT/$name"
}

# A ladder: 400 visits a move against an engine limited to UCI_Elo at 2,000 nodes, and the raw net without search.
ladder() { # GAME ENGINE-NAME COMMAND
    for elo in 1350 1700 2050 2400; do
        weak="name=$2-$elo option.UCI_LimitStrength=true option.UCI_Elo=$elo option.Threads=1 nodes=2000"
        match "$1-$2-$elo" --game "$1" -A "default name=az-engine-400 visits=400 $OURS" -B "cmd='$3' $weak"
    done
    weak="name=$2-1350 option.UCI_LimitStrength=true option.UCI_Elo=1350 option.Threads=1 nodes=2000"
    match "$1-raw" --game "$1" -A "raw:default name=az-engine-raw $OURS" -B "cmd='$3' $weak"
    "$AZ_ENGINE" rate "$OUT/$1-$2"-* "$OUT/$1-raw" --anchor "$2-1350=1350"
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
    match go9-gnugo-100 --game go -A "default name=az-engine-100 visits=100 option.threads=1" -B "cmd='$GNUGO' name=gnugo-10"
}

# The papers' human openings (Table 2, Figure 3), with colours swapped, against half the visits.
papers() {
    for game in chess shogi; do
        match "$game-paper" --game "$game" -A "default name=az-engine-200 visits=200 $OURS" \
            -B "default name=az-engine-100 visits=100 $OURS" --openings paper
    done
}

# MOVE seconds a move for both. A limited Stockfish chooses its move at depth 1 + level, so FAST lets it search just so deep;
# Fairy-Stockfish rounds its level up or down at random before each move, so it gets one ply more.
second() {
    for rung in 1700:4 2000:7 2300:11; do
        rung_second chess stockfish "$STOCKFISH" "${rung%:*}" "${rung#*:}"
    done
    for rung in 1700:5 2000:8 2300:12; do
        rung_second shogi fairy "$FAIRY" "${rung%:*}" "${rung#*:}"
    done
    match "go9-${MOVE}s" --game go --concurrency "$CONCURRENCY" \
        -A "default name=az-engine-${MOVE}s seconds=$MOVE option.threads=$THREADS" -B "cmd='$GNUGO' name=gnugo-10"
}

rung_second() { # GAME ENGINE-NAME COMMAND ELO DEPTH
    limit="seconds=$MOVE"
    [ -z "$FAST" ] || limit="depth=$5"
    match "$1-${MOVE}s-$4" --game "$1" --concurrency "$CONCURRENCY" \
        -A "default name=az-engine-${MOVE}s seconds=$MOVE option.Threads=$THREADS" \
        -B "cmd='$3' name=$2-$4 option.UCI_LimitStrength=true option.UCI_Elo=$4 option.Threads=1 $limit"
}

# Ratings as CCRL counts, roughly. Glaurung's is that of CCRL 40/15, one thread; those of Stockfish's levels are Stockfish's
# own fit against engines that CCRL Blitz rates (its pull request 4341). A level searches as deep as it chooses its move.
gauntlet() {
    ours="default name=az-engine-${MOVE}s seconds=$MOVE $OURS"
    match gauntlet-glaurung --concurrency "$CONCURRENCY" -A "$ours" -B "cmd=glaurung name=glaurung-2.2 option.Threads=1 \
        option.Ponder=false option.OwnBook=false seconds=$MOVE"
    match gauntlet-toga --concurrency "$CONCURRENCY" -A "$ours" \
        -B "cmd=toga2 name=toga-3.0 option.OwnBook=false seconds=$MOVE"
    for level in 8 10; do
        match "gauntlet-stockfish-$level" --concurrency "$CONCURRENCY" -A "$ours" -B "cmd='$STOCKFISH' \
            name=stockfish-level-$level 'option.Skill Level=$level' option.Threads=1 depth=$((level + 1))"
    done
    "$AZ_ENGINE" rate "$OUT"/gauntlet-* --anchor glaurung-2.2=2793 --anchor stockfish-level-8=2596 \
        --anchor stockfish-level-10=2788
}

# Without anything kept back for a GUI and the wire: a few milliseconds are all thought.
over_time() {
    for game in chess shogi go; do
        case $game in
        chess) threads=option.Threads delay="'option.Move Overhead=0'" ;;
        shogi) threads=option.Threads delay="option.NetworkDelay=0 option.NetworkDelay2=0" ;;
        go) threads=option.threads delay=option.move-overhead=0 ;;
        esac
        echo "== time-$game"
        "$AZ_ENGINE" report scaling --game "$game" --seconds "$BASE" --doublings "$DOUBLINGS" --games "$TIME_GAMES" \
            --player "default name=az-engine $threads=$THREADS $delay" \
            --baseline "default name=100-visits visits=100 $threads=1" --out "$OUT/time-$game"
    done
    "$AZ_ENGINE" report curves "$OUT/time-chess" "$OUT/time-shogi" "$OUT/time-go" --out docs/figures/time.svg \
        --title "Elo above the same net with 100 visits, by time a move"
}

# In docs/results/strength.md, what rate says of the matches NAME* stands between `<!-- results NAME ANCHOR -->`, where ANCHOR may
# be missing, and `<!-- end -->`.
tables() {
    table=$(mktemp)
    trap 'rm -f "$table"' EXIT
    sed -n 's/^<!-- results \(.*\) -->$/\1/p' docs/results/strength.md | while read -r name anchor; do
        set -- "$OUT/$name"*/games.jsonl
        [ -e "$1" ] || continue
        {
            printf '\nPlayed until %s:\n\n' "$(for file; do date -u -r "$file" +%F; done | sort | tail -n 1)"
            "$AZ_ENGINE" rate --markdown ${anchor:+--anchor "$anchor"} "$@"
            echo
        } >"$table"
        awk -v begin="<!-- results $name${anchor:+ $anchor} -->" -v table="$table" '
            $0 == begin { print; while ((getline line < table) > 0) print line; within = 1; next }
            $0 == "<!-- end -->" { within = 0 }
            !within' docs/results/strength.md >docs/results/strength.md.new
        mv docs/results/strength.md.new docs/results/strength.md
    done
}

[ $# -gt 0 ] || set -- chess shogi go9 papers second
for part in "$@"; do
    case $part in
    chess | shogi | go9 | papers | gauntlet | second | tables) "$part" ;;
    time) over_time ;;
    *) echo "strength.sh: there is no part '$part'; its first lines tell which there are" >&2 && exit 2 ;;
    esac
done
