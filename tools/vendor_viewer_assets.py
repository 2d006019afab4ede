"""Fetch the scripts and fonts that the viewer bundles from the npm registry, exactly as pinned here.

    python -m tools.vendor_viewer_assets

Needs `npm`. Change a version, run it, look at the difference, run the browser tests.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

ASSETS = Path(__file__).parents[1] / "pdfocr_core" / "viewer" / "assets"

# name, version, {file in the package: name here}
PACKAGES: list[tuple[str, str, dict[str, str]]] = [
    (
        "katex",
        "0.19.1",
        {
            "dist/katex.min.js": "katex.min.js",
            "dist/katex.min.css": "katex.min.css",
            "dist/contrib/auto-render.min.js": "katex-auto-render.min.js",
        },
    ),
    ("markdown-it", "15.0.3", {"dist/browser/markdown-it.umd.min.js": "markdown-it.min.js"}),
    ("dompurify", "3.5.0", {"dist/purify.min.js": "purify.min.js"}),
]
_OTHER_FONTS = re.compile(r",url\([^)]*\.(?:woff|ttf)\) format\(\"[a-z]+\"\)")
_SOURCE_MAP = re.compile(r"\n?//# sourceMappingURL=\S+\s*$")


def main() -> None:
    """Replace the bundled files."""
    vendor, licenses = ASSETS / "vendor", ASSETS / "licenses"
    for folder in (vendor, licenses):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name, version, files in PACKAGES:
            _unpack(Path(scratch), name, version, files, vendor, licenses)


def _unpack(scratch: Path, name: str, version: str, files: dict[str, str], vendor: Path, licenses: Path) -> None:
    pack = ["npm", "pack", "--silent", f"{name}@{version}"]
    tarball = subprocess.run(pack, cwd=scratch, check=True, capture_output=True, text=True).stdout.split()[-1]
    with tarfile.open(scratch / tarball) as archive:
        archive.extractall(scratch / name, filter="data")
    package = scratch / name / "package"
    about = json.loads((package / "package.json").read_text())
    for source, target in files.items():
        text = _SOURCE_MAP.sub("\n", (package / source).read_text())
        (vendor / target).write_text(_OTHER_FONTS.sub("", text))
    for font in sorted((package / "dist" / "fonts").glob("*.woff2")):
        (vendor / "fonts").mkdir(exist_ok=True)
        shutil.copyfile(font, vendor / "fonts" / font.name)
    notice = f"{name} {version}\nhttps://www.npmjs.com/package/{name}\nLicence: {about['license']}\n\n"
    (licenses / f"{name}.txt").write_text(notice + (package / "LICENSE").read_text())


if __name__ == "__main__":
    main()
