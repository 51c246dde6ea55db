"""Importing breakfall does nothing; its public names load when they are asked for."""

import subprocess
import sys

import breakfall


def test_importing_it_loads_nothing_else() -> None:
    """In a fresh process `import breakfall` brings in no other module of ours."""
    code = "import sys, breakfall; print([name for name in sys.modules if name.startswith('breakfall.')])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    """What `__all__` promises can be had."""
    assert all(getattr(breakfall, name) is not None for name in breakfall.__all__)
