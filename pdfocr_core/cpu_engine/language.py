"""A page's language by cheap means: its script, and for Latin letters its commonest small words."""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["guess_language"]

_SCRIPTS = {
    "ru": re.compile("[\u0400-\u04ff]"),
    "el": re.compile("[\u0370-\u03ff]"),
    "he": re.compile("[\u0590-\u05ff]"),
    "ar": re.compile("[\u0600-\u06ff]"),
    "hi": re.compile("[\u0900-\u097f]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
    "ko": re.compile("[\uac00-\ud7af\u1100-\u11ff]"),
    "ja": re.compile("[\u3040-\u30ff]"),
    "zh": re.compile("[\u4e00-\u9fff]"),
}
_LATIN = re.compile("[a-zA-Z\u00c0-\u024f]")
_WORD = re.compile(r"[^\W\d_]+")
_UKRAINIAN = re.compile("[іїєґІЇЄҐ]")
_PERSIAN = re.compile("[پچژگ]")

_STOP_WORDS = {
    "en": "the of and to in is that for it with as was on are by this be at from or which have an not his",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus",
    "fr": "de la le et les des en un une du que est pour qui dans par sur au plus ne pas se ce avec sont il",
    "es": "de la que el en y los del se las por un para con una su al lo como más pero sus es este",
    "pt": "de a o que e do da em um para com não uma os no se na por mais as dos como mas ao das são",
    "it": "di e il la che in un per è una del non sono da con le si dei al come più nel della alla gli",
    "nl": "de van het een en in is dat op te voor met die zijn niet aan er om ook als bij door naar uit",
    "sv": "och i att det som en på är av för med till den har de inte om ett var men från vid så",
    "da": "og i at det som en på er af for med til den har de ikke om et var men fra ved så der",
    "no": "og i å det som en på er av for med til den har de ikke om et var men fra ved så seg",
    "fi": "ja on ei se että oli hän mutta ovat joka kun niin myös kuin tai sen mukaan ole vain sekä",
    "pl": "i w na z do się nie że to jest o jak po od za przez dla oraz są ale tym jego być który",
    "cs": "a v se na je že s z do o k i to jako za pro by po ale od jsou byl který také podle",
    "hu": "a az és hogy nem is egy ez van volt meg de ha mint csak már még el ki lehet után",
    "tr": "ve bir bu da de için ile olarak çok daha olan gibi en kadar sonra ne var ancak her",
    "ro": "și de în a la cu pe nu că este din o care un pentru mai sau se au fi prin dar",
}
_WORDS = {language: frozenset(words.split()) for language, words in _STOP_WORDS.items()}
MIN_LETTERS = 20
MIN_HITS = 3


def guess_language(text: str) -> str | None:
    """ISO 639-1 code of the page's main language; None where there is too little to tell."""
    counts = {code: len(pattern.findall(text)) for code, pattern in _SCRIPTS.items()}
    latin = len(_LATIN.findall(text))
    total = latin + sum(counts.values())
    if total < MIN_LETTERS and latin == total:
        return None
    if total == 0:
        return None
    script = max(counts, key=lambda code: counts[code])
    if counts[script] + counts["ja"] * (script == "zh") > latin / 2:
        return _among_relatives(script, counts, text)
    return _by_stop_words(text)


def _among_relatives(script: str, counts: dict[str, int], text: str) -> str:
    # Japanese is told from Chinese by its kana, however many Chinese characters it has.
    if script == "zh" and counts["ja"] > 0.1 * counts["zh"]:
        return "ja"
    if script == "ru" and len(_UKRAINIAN.findall(text)) > 0.03 * counts["ru"]:
        return "uk"
    if script == "ar" and len(_PERSIAN.findall(text)) > 0.02 * counts["ar"]:
        return "fa"
    return script


def _by_stop_words(text: str) -> str | None:
    words = Counter(_WORD.findall(text.casefold()))
    hits = {language: sum(words[word] for word in stop_words) for language, stop_words in _WORDS.items()}
    # How many different ones are found counts more than one that is frequent: "a" and "de" are words of many languages.
    kinds = {language: sum(word in words for word in stop_words) for language, stop_words in _WORDS.items()}
    best = max(_WORDS, key=lambda language: (hits[language] * kinds[language], kinds[language]))
    return best if hits[best] >= MIN_HITS and kinds[best] >= 2 else None
