"""Wheels contain the compiled kernels; everything else is in pyproject.toml."""

import runpy
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

FUSED = Path("kleene/nn/fused")
LIBRARY = runpy.run_path(str(Path(__file__).parent / "src" / FUSED / "library.py"))


class BuildKernels(build_py):
    """Compile the kernels; without a compiler the package runs by torch's operations."""

    def run(self) -> None:
        """Copy the modules, then compile into the folder of the build."""
        super().run()
        if not self.editable_mode and LIBRARY["compiler"]():
            LIBRARY["build_all"](Path(self.build_lib) / FUSED / "kernels")


class WithKernels(Distribution):
    """A distribution with compiled files, unless there is no compiler."""

    def has_ext_modules(self) -> bool:
        """Whether a wheel is of one platform."""
        return bool(LIBRARY["compiler"]())


class PlatformWheel(bdist_wheel):
    """One wheel per platform: the kernels know neither Python nor torch."""

    def get_tag(self) -> tuple[str, str, str]:
        """Any version of Python, this platform."""
        return ("py3", "none", super().get_tag()[2])


setup(distclass=WithKernels, cmdclass={"build_py": BuildKernels, "bdist_wheel": PlatformWheel})
