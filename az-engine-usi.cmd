@"%~dp0az-engine.cmd" usi %*
