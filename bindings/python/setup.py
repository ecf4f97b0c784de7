"""Marks the wheel as one of this platform when the library is inside; any Python 3 can load it."""

from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

LIBRARY = Path(__file__).parent / "src" / "kassa" / "libkassa.so"


class PlatformDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return LIBRARY.exists()


class PlatformWheel(bdist_wheel):
    def get_tag(self) -> tuple[str, str, str]:
        _python, _abi, platform = super().get_tag()
        return "py3", "none", platform


setup(distclass=PlatformDistribution, cmdclass={"bdist_wheel": PlatformWheel})
