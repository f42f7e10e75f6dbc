"""``az-engine distil``: Go nets that see komi and rules, from a KataGo net that plays and labels."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console

from ...engine.errors import OptionError
from ...engine.games import get_game
from ...engine.nets.file.fit import check_net
from ...engine.nets.file.netfile import read_outline
from ...engine.nets.netinfo import NetInfo
from ...engine.os.files import write_atomically
from ..families import family_of
from ..families.config import NetConfig
from ..fields import Help, add_flags, from_flags
from ..foreign.katago import ENCODER
from ..signals import StopSignals
from ..storage import RunLock
from ..train.config import LearnerConfig
from .config import EXACT, HISTORY, OURS, RULES, SETTINGS, DistilConfig, Seen

if TYPE_CHECKING:
    from .teacher import Teacher

HELP = "train Go nets that see komi and rules from a KataGo net, which plays and labels"
_LINES = range(5, 20)  # of the boards
_SHAPE = (8, 96)  # blocks and filters of a network
_COMPARED = 512  # positions of each size
_LEARNING = {"optimiser": "muon", "rate": 4e-3, "freeze": 0.7, "value_weight": 1.5, "ownership_weight": 1.5}
_SIZES = "9:4,13:2,19:3,7:0.4,8:0.3,10:0.3,11:0.4,12:0.2,15:0.3,17:0.3"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "A KataGo net and a network of ours play games of every strength, komi, rule set and size of board without a "
        "search. Of some positions (--apart) the KataGo net says its policy, chances, lead and owners; our networks "
        "learn from that at once. Made for a GPU: on "
        "a CPU a large teacher labels at most a hundred positions of 9x9 a second. Leaves NAME_fp32.onnx and "
        "NAME_int8.onnx."
    )
    parser.formatter_class = Help
    parser.epilog = """\
examples:
  az-engine distil b10c384.bin.gz --out runs/go --minutes 60 --device cuda
  az-engine distil b10c384.bin.gz --other-teacher 13,19:b6c96.bin.gz --init default --nets 6x64 --out runs/both
  az-engine distil b6c96.bin.gz --out runs/small --nets 4x32 --sizes 9:1 --minutes 10
  az-engine distil --mean runs/go runs/more --out runs/mean"""
    add = parser.add_argument
    add("teacher", type=Path, nargs="?", metavar="NET", help="a KataGo net, .bin.gz; not with --finish and --mean")
    add("--out", type=Path, required=True, metavar="RUN", help="folder of the run")
    add(
        "--nets",
        type=_nets,
        default=(),
        metavar="BxF[,BxF]",
        help="networks that learn side by side: blocks, filters (default: 8x96)",
    )
    add("--squeeze", type=int, default=16, metavar="N", help="hidden units of squeeze-excitation")
    add("--sizes", type=_sizes, default=_SIZES, metavar="N:X[,N:X]", help="sizes of board, 5 to 19, and their shares")
    add(
        "--other-teacher",
        type=_teacher,
        action="append",
        default=[],
        metavar="N[,N]:NET",
        help="another KataGo net that looks at these sizes of board, such as a small one for large boards; once for "
        "each net",
    )
    add(
        "--exact-teacher",
        action="store_true",
        help="the teacher computes in float32: exact, and on a CPU up to twice as slow",
    )
    add("--device", default="cpu", help="cpu, or cuda for a GPU")
    add(
        "--init",
        type=Path,
        metavar="NET",
        help="begin with a net of this shape, which may see stones alone, or a run; default = the 6x64 net inside the "
        "package; a KataGo net, .bin.gz, learns on as it is, without --nets; random weights where it is left out",
    )
    add(
        "--supervised",
        type=Path,
        nargs="+",
        default=[],
        metavar="DATA",
        help="folders of labelled Go records, of az-engine label, to learn from, too",
    )
    add(
        "--chances-only",
        action="store_true",
        help="of the net of --init only the chances to win learn, by their last layer: moves, leads and owners stay",
    )
    add("--fp32", action="store_true", help="leave the int8 files out")
    add("--finish", action="store_true", help="train no further: write the int8 files of what RUN holds")
    add(
        "--mean",
        type=Path,
        nargs="+",
        default=[],
        metavar="RUN",
        help="train no further: write the mean of the weights of these runs, one of which began with another's net; it "
        "is often better than each",
    )
    add_flags(parser, DistilConfig)
    add_flags(parser, LearnerConfig, **_LEARNING)


def _nets(text: str) -> tuple[tuple[int, int], ...]:
    found = [re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", word) for word in text.split(",")]
    if None in found:
        raise argparse.ArgumentTypeError(f"{text} is no list of networks; give blocks and filters, as in 8x96,6x64")
    results = tuple((int(shape[1]), int(shape[2])) for shape in found if shape)
    if len(set(results)) < len(results):
        raise argparse.ArgumentTypeError(f"{text} names a network twice; give each once")
    return results


def _sizes(text: str) -> tuple[tuple[int, float], ...]:
    found = [re.fullmatch(r"(\d+)(?::(\d+\.?\d*|\.\d+))?", word) for word in text.split(",")]
    results = tuple((int(size[1]), float(size[2] or 1)) for size in found if size)
    if None in found or not all(lines in _LINES and share > 0 for lines, share in results):
        raise argparse.ArgumentTypeError(
            f"{text} is no list of sizes; give lines of boards, {_LINES[0]} to {_LINES[-1]}, and shares above 0, "
            "as in 9:4,19:3"
        )
    if len({lines for lines, _ in results}) < len(results):
        raise argparse.ArgumentTypeError(f"{text} names a size twice; give each once")
    return results


def _teacher(text: str) -> tuple[tuple[int, ...], Path]:
    sizes, _, name = text.partition(":")
    if not re.fullmatch(r"\d+(,\d+)*", sizes) or not name:
        raise argparse.ArgumentTypeError(
            f"{text} is no teacher of some sizes; give lines of boards and a file, as in 13,19:FILE"
        )
    return tuple(map(int, sizes.split(","))), Path(name)


def network(blocks: int, filters: int, squeeze: int) -> NetConfig:
    """The settings of a network for every size of board that sees komi and rules."""
    values = {
        "blocks": blocks,
        "filters": filters,
        "squeeze": squeeze,
        "history": HISTORY,
        "policy_head": "pooled",
        "policy_filters": max(32, filters // 2),
        "value_filters": 32,
        "value_hidden": 64,
        "ownership": True,
        "score": True,
    }
    return family_of("dual-res").configured(get_game("go").sized(19).using(RULES), values)


def main(args: argparse.Namespace) -> int:
    import torch

    if args.device != "cpu" and not torch.cuda.is_available():
        raise OptionError(f"--device {args.device} needs a GPU and a torch built for it; leave --device out")
    console = Console(stderr=True)

    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True)

    _check_folder(args)
    with RunLock(args.out), StopSignals() as stop:
        if args.mean:
            write_means(args.mean, args.out, say)
        elif not args.finish:
            train(args, stop, say)
        if stop():
            learned = any(args.out.glob(f"*{EXACT}"))
            finishing = f"az-engine distil --finish --out {args.out} writes the int8 files"
            say(f"stopped; {finishing if learned else 'nothing was learned yet'}")
            return 130
        if not args.fp32:
            finish(args.out, say)
    return 0


def _check_folder(args: argparse.Namespace) -> None:
    """Errors: OptionError where the folder does not fit the request."""
    nets = sorted(args.out.glob(f"*{EXACT}"))
    for run in args.mean:
        if not run.is_dir():
            raise OptionError(f"{run} is no folder; give runs of az-engine distil")
    given = "--finish" if args.finish else "--mean" if args.mean else ""
    if given and args.teacher is not None:
        raise OptionError(f"{given} trains no further; leave NET out")
    if args.chances_only and args.init is None:
        raise OptionError("--chances-only changes the chances of a net; give it with --init")
    strangers = {size for sizes, _ in args.other_teacher for size in sizes} - {size for size, _ in args.sizes}
    if strangers:
        raise OptionError(f"--other-teacher looks at {min(strangers)}, which is not among --sizes")
    if args.finish and args.mean:
        raise OptionError("give --finish or --mean, not both")
    if len(args.mean) == 1:
        raise OptionError("--mean needs two runs or more")
    for path in (run / name for name in _names(args.mean) for run in args.mean):
        if not path.exists():
            raise OptionError(f"{path} is not there; give folders of runs of az-engine distil of the same networks")
    if args.finish and not nets:
        raise OptionError(f"{args.out} holds no net of az-engine distil; give the folder of a run")
    if not args.finish and (nets or (args.out / SETTINGS).exists()):
        onwards = f", and --init {nets[0]} to begin with its net" if nets else ""
        raise OptionError(f"{args.out} holds a run, which cannot be continued; give another folder{onwards}")


def train(args: argparse.Namespace, stop: Callable[[], bool], say: Callable[[str], None]) -> None:
    """A run, until its time is over or ``stop``. BLOCKS. Errors: AzError."""
    from ..train.learner import Learner
    from ..train.origin import origin
    from .begin import seeing_rules
    from .katago import is_katago, read_katago
    from .records import read_records
    from .run import Distillation

    config, settings = from_flags(DistilConfig, args), from_flags(LearnerConfig, args)
    if args.teacher is None:
        raise OptionError("give a KataGo net to learn from, as in: az-engine distil b10c384.bin.gz --out RUN")
    go = get_game("go")
    if args.chances_only:
        settings = replace(settings, freeze=0.0)
    plain = settings.precision == "fp32"
    exact = plain or args.exact_teacher
    begun = None if args.init is None or not is_katago(args.init) else read_katago(args.init, exact=plain)
    if begun is not None and args.nets:
        raise OptionError(f"{args.init} is a KataGo net, which has its own shape; leave --nets out")
    seen = OURS if begun is None else Seen(ENCODER, begun.config.history)
    records = [read_records(go, folder, seen) for folder in args.supervised]
    student = go.sized(19).using(seen.encoder)
    largest = go.sized(max(lines for lines, _ in args.sizes)).using(RULES)
    ours = None if begun is not None or args.init is None else seeing_rules(origin(args.init, largest), student)
    others = [(sizes, _read_teacher(path, args.device, exact=exact)) for sizes, path in args.other_teacher]
    usual = _read_teacher(args.teacher, args.device, exact=exact)
    teacher_of = {lines: usual for lines, _ in args.sizes}
    teacher_of |= {lines: teacher for sizes, teacher in others for lines in sizes}
    shapes = args.nets or (_SHAPE,)
    nets = [network(blocks, filters, args.squeeze) for blocks, filters in shapes] if begun is None else [begun.config]
    learners = [
        Learner(student, net, settings, device=args.device, chances_only=args.chances_only, first=begun) for net in nets
    ]
    if ours is not None:
        for learner in learners:
            learner.begin_from(ours)
    boards = [(go.sized(lines).using(ENCODER), share, teacher_of[lines].make) for lines, share in args.sizes]
    settings_used = {
        "teachers": {lines: teacher.about for lines, teacher in teacher_of.items()},
        "nets": [learner.net_config.architecture for learner in learners],
        "sizes": args.sizes,
        "squeeze": args.squeeze,
        "supervised": [str(folder) for folder in args.supervised],
        "chances only": args.chances_only,
        "exact teacher": args.exact_teacher,
    }
    settings_used |= {"distil": asdict(config), "learner": asdict(settings)}
    Distillation(boards, learners, config, args.out, say, settings_used, records, seen).run(stop)


class _Teacher(NamedTuple):
    make: Callable[[], Teacher]  # one for a size of board
    about: str  # what it learned from


def _read_teacher(path: Path, device: str, *, exact: bool) -> _Teacher:
    """exact: in float32. Errors: NetError; OptionError for a net that does not see what KataGo's nets see."""
    import onnx
    import torch

    from ..foreign.families import convert_file
    from .teacher import teachers

    converted = convert_file(path)
    if converted.info.encoder != ENCODER:
        raise OptionError(f"{path} sees {converted.info.encoder}; a net that sees {ENCODER} is needed")
    model = onnx.load_from_string(converted.model)
    return _Teacher(teachers(model, torch.device(device), exact=exact), converted.info.trained_on)


def _names(runs: Sequence[Path]) -> list[str]:
    """The files of the networks that runs have, or should have."""
    return sorted({path.name for run in runs for path in run.glob(f"*{EXACT}")}) or [f"NAME{EXACT}"] * bool(runs)


def write_means(runs: Sequence[Path], folder: Path, say: Callable[[str], None]) -> None:
    """Write the mean of each network of some runs. BLOCKS. Errors: NetError, OptionError where networks differ."""
    from .mean import mean_of

    means = {name: mean_of([run / name for run in runs]).SerializeToString() for name in _names(runs)}
    for name, content in means.items():
        write_atomically(folder / name, content)
        say(f"written: {folder / name}")


def finish(folder: Path, say: Callable[[str], None]) -> None:
    """Write the int8 files of a run's nets. BLOCKS. Errors: NetError, OptionError where they are not of a run."""
    from ..families.tower.graph import FIRST, KEEP_FP32
    from ..foreign.importer import quantised
    from ..foreign.katago import suited_to_int8
    from ..foreign.source import Converted

    for path in sorted(folder.glob(f"*{EXACT}")):
        outline, content = read_outline(path)
        told = NetInfo.from_metadata(outline.metadata)
        if told.encoder not in (RULES, ENCODER) or not told.boards:
            raise OptionError(f"{path} is no net of az-engine distil; give the folder of its run")
        info = check_net(outline, get_game("go").sized(max(told.boards)))
        if told.encoder == RULES:
            keep = tuple(name for name in KEEP_FP32 if name.rstrip(".") != FIRST)
            exact = Converted(content, info, (), keep, first=FIRST)
        else:
            exact = Converted(content, info, (), int8=suited_to_int8(content))
        int8, compared = quantised(exact, _COMPARED)
        target = path.with_name(path.name.replace(EXACT, "_int8.onnx"))
        write_atomically(target, int8.SerializeToString())
        say(f"written: {target}")
        for each in compared:
            agreement = each.agreement
            say(
                f"{target.name} on {each.size}: the same best move in {agreement.top1:.1%}, KL {agreement.kl:.4f}, "
                f"the expected outcome differs by {agreement.value:.4f}"
            )
