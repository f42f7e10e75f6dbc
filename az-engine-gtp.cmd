@"%~dp0az-engine.cmd" gtp %*
