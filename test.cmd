@echo off
rem Run the tests on Windows: test, test all or test [pytest arguments], as the shell script test beside this file does.
setlocal
cd /d "%~dp0"
set "AZ_ENGINE_EXTRA=train,serve,test,docs"
call "%~dp0az-engine.cmd" version 1>&2 || exit /b 1
set "many=-n auto --maxprocesses 4 --dist worksteal"
if "%~1"=="" (
    .venv\Scripts\pytest.exe %many% -m "not slow"
) else if "%~1"=="all" (
    .venv\Scripts\pytest.exe %many%
) else (
    .venv\Scripts\pytest.exe %*
)
