@"%~dp0az-engine.cmd" uci %*
