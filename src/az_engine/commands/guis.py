"""What to enter in GUIs and match tools to use az-engine there."""

from __future__ import annotations

from ..protocols.conversation import USUAL_GAMES
from .installation import Installation, quote


def recipes(protocol: str, where: Installation) -> list[tuple[str, str]]:
    """Pairs of program and what to enter there, for games that are played over ``protocol``: "uci", "usi"."""
    terminal = ("a terminal", f"{where.command} {protocol}")
    executable = where.executable(protocol)
    if executable is None:
        return [terminal]
    path, command = str(executable), executable.name
    word = quote(path)
    uci = [
        ("Arena", f"Engines > Install New Engine: {path} (type UCI)"),
        ("Banksia, En Croissant", f"add an engine with the file {path} (UCI)"),
        ("GNOME Chess", f"~/.config/gnome-chess/engines.conf, three lines:  [az-engine]  protocol=uci  binary={path}"),
        ("Nibbler", f'Engine > Choose engine: {path}; add "az-engine" to leelaish_names in its config.json'),
        ("PyChess", f"Edit > Engines > add {path} (UCI)"),
        ("Cute Chess", f"Tools > Settings > Engines: command {path}, protocol UCI"),
        ("cutechess-cli", f"cutechess-cli -engine name=az-engine cmd={word} proto=uci -engine ... -each tc=60+1"),
        ("fastchess", f"fastchess -engine name=az-engine cmd={word} -engine ... -each tc=60+1"),
        ("lichess-bot", f'config.yml, under engine:  dir: "{executable.parent}"  name: "{command}"  protocol: "uci"'),
        ("python-chess", f"chess.engine.SimpleEngine.popen_uci({path!r})"),
    ]
    usi = [
        ("ShogiGUI, BanksiaGUI", f"add an engine with the file {path} (USI)"),
        ("Shogidokoro", f"Engine management > Add: {path}"),
        ("ShogiHome", f"Engine settings > Add: {path}"),
        ("shogiarena", f'an engine file of two lines:  name: "az-engine"  and  engine_path: "{path}"'),
        ("cshogi's match tool", f"python -m cshogi.cli {word} OTHER_ENGINE --games 20 --byoyomi 1000 --csa games"),
        ("cshogi", f"cshogi.usi.Engine({path!r})"),
    ]
    gtp = [
        ("Sabaki", f"Engines > Show Engines Sidebar > Manage Engines > Add: path {path}, no arguments"),
        ("GoGui", f"Program > New Program: command {word}"),
        ("q5Go", f"Settings > Preferences > Computer Go > New: executable {path}"),
        ("qGo", f"Preferences > Computer engine > Add: path {path}, no arguments"),
        ("Quarry", f"Preferences > GTP Engines > Add: command line {path}"),
        ("Lizzie", f'config.txt, under leelaz:  "engine-command": "{path}"'),
        ("KaTrain", f"General & Engine Settings > Command: {where.command} analysis"),
        ("gogui-twogtp", f"gogui-twogtp -black {word} -white 'gnugo --mode gtp' -size 9 -komi 7 -games 20 -sgffile go"),
    ]
    programs = {"uci": uci, "usi": usi, "gtp": gtp}
    game = USUAL_GAMES.get(protocol, "GAME")
    remote = (
        "a program on another machine",
        f"here {where.command} serve --host 0.0.0.0, there az-engine connect HOST {game} --token-file FILE",
    )
    return [*programs.get(protocol, []), remote, terminal]
