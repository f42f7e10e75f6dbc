@echo off
rem az-engine from this checkout on Windows: az-engine COMMAND ...
rem
rem Does what the shell script az-engine beside this file does, with the same settings AZ_ENGINE_EXTRA and AZ_ENGINE_PYTHON.
rem .ci\venv.py looks at every start whether .venv is up to date; what it says goes to stderr.
setlocal
set "found="
if defined AZ_ENGINE_PYTHON call :try "%AZ_ENGINE_PYTHON%"
if not defined found call :try py -3
if not defined found call :try py -3.14
if not defined found call :try py -3.13
if not defined found call :try python3
if not defined found call :try python
if not defined found (
    >&2 echo az-engine needs Python 3.11 to 3.14 and found none: install it from python.org, or set AZ_ENGINE_PYTHON to one
    exit /b 1
)
%found% -I "%~dp0.ci\venv.py" <nul 1>&2 || exit /b 1
"%~dp0.venv\Scripts\python.exe" -I -m az_engine %*
exit /b

:try
%* -I -c "import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))" <nul >nul 2>&1 && set found=%*
exit /b 0
