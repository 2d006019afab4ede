"""English that nobody wrote: sentences made by lot, each different, with the letters and lengths of ordinary text."""

from __future__ import annotations

import random

__all__ = ["Prose"]

_WHO = (
    "the surveyor", "a retired captain", "the town council", "her younger sister", "the miller of Ashford",
    "a commission of engineers", "the night watchman", "every second farmer", "the schoolmaster", "a Dutch merchant",
    "the botanist", "the bishop's secretary", "a company of weavers", "the lighthouse keeper", "the provincial court",
    "an apprentice", "the widow Hargreave", "the ferryman", "a group of students", "the chief physician",
)  # fmt: skip
_DID = (
    "measured", "described", "refused to sell", "repaired", "carefully copied", "had forgotten", "inspected",
    "quietly removed", "exchanged", "photographed", "inherited", "complained about", "catalogued", "rebuilt",
    "ordered", "could not explain", "questioned", "transported", "paid for", "examined",
)  # fmt: skip
_WHAT = (
    "the wooden bridge", "seventeen barrels of herring", "an unusual collection of minerals", "the old harbour wall",
    "a manuscript on beekeeping", "the northern boundary", "several glass instruments", "the church accounts",
    "a quantity of raw wool", "the drainage of the lower fields", "three portraits", "the letters of complaint",
    "an iron stove", "the map of the estuary", "forty sacks of barley", "the broken telescope", "a collapsed tunnel",
    "the winter provisions", "the new printing press", "a narrow staircase",
)  # fmt: skip
_WHEN = (
    "before the frost came", "during the long drought", "in the following spring", "without asking anyone",
    "at considerable expense", "on the advice of a neighbour", "after the great fire", "while the river was high",
    "for the third time that year", "in spite of all objections", "as soon as the roads were dry",
    "under the supervision of the harbour master", "although nobody had requested it", "shortly after midnight",
    "according to the parish register", "with the help of two carpenters",
)  # fmt: skip
_THEN = (
    "and the matter was soon settled", "but the costs had doubled by then", "so the work began again in June",
    "which surprised the visitors", "and no record of it survives", "because the timber was rotten",
    "while others waited for better weather", "though few people believed it", "and the price fell by a quarter",
    "until the money ran out", "as the correspondence shows", "and both sides were satisfied",
)  # fmt: skip
_NOUNS = (
    "Barley", "Timber", "Linen", "Herring", "Copper", "Paper", "Wool", "Candles", "Pottery", "Leather", "Saltpetre",
    "Oats", "Cider", "Slate", "Glass", "Honey", "Tobacco", "Rope", "Cheese", "Charcoal",
)  # fmt: skip
_TITLES = (
    "Harbours and Their Keepers", "The Accounts of the Northern Mills", "On the Measurement of Rivers",
    "A Register of Small Trades", "Bridges of the Lower Valley", "Weather, Roads and Markets",
    "Notes on an Old Survey", "The Growth of a Market Town",
)  # fmt: skip


class Prose:
    """Sentences, titles and names by lot; none comes twice from one object."""

    def __init__(self, seed: str) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - filler
        self._said: set[str] = set()

    def sentence(self) -> str:
        """Some 60 to 120 characters."""
        while True:
            pick = self.chance.choice
            said = f"{pick(_WHO)} {pick(_DID)} {pick(_WHAT)} {pick(_WHEN)}"
            if self.chance.random() < 0.5:
                said += f", {pick(_THEN)}"
            if said not in self._said:
                self._said.add(said)
                return said[0].upper() + said[1:] + "."

    def sentences(self, count: int) -> list[str]:
        """Several."""
        return [self.sentence() for _ in range(count)]

    def title(self) -> str:
        """Of a page or a section."""
        left = [title for title in _TITLES if title not in self._said]
        title = self.chance.choice(left)
        self._said.add(title)
        return title

    def goods(self, count: int) -> list[str]:
        """Names for the rows of a table, each different."""
        return self.chance.sample(_NOUNS, count)

    def number(self, digits: int) -> str:
        """A number with so many digits that does not begin with 0, and has not come before."""
        while True:
            number = str(self.chance.randrange(10 ** (digits - 1), 10**digits))
            if number not in self._said:
                self._said.add(number)
                return number
