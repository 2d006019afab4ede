from __future__ import annotations

import pytest

from pdfocr_core.rendering.plausible import letters_in, why_unsound

ENGLISH = (
    "The harbour master kept a ledger in which each vessel was entered with the date of her arrival, the name of her "
    "captain and the nature of the cargo, and once a year the clerks of the customs house came to compare it with "
    "their own accounts, which as a rule differed in several places. Nobody could say how the discrepancies came "
    "about, since both books were kept with care, but it was the custom to accept the larger of the two figures and "
    "to record the difference in a third book, which was locked in a chest and opened only in the presence of both. "
)
GERMAN = (
    "Der Hafenmeister führte ein Buch, in das jedes Schiff mit dem Tag der Ankunft, dem Namen des Kapitäns und der Art "
    "der Ladung eingetragen wurde, und einmal im Jahr kamen die Schreiber des Zollhauses, um es mit ihren eigenen "
    "Aufzeichnungen zu vergleichen, die in der Regel an mehreren Stellen davon abwichen. "
)
OTHERS = {
    "french": "Le maître du port tenait un registre où chaque navire était inscrit avec la date de son arrivée, le nom "
    "de son capitaine et la nature de la cargaison, et une fois par an les commis de la douane venaient le comparer. ",
    "polish": "Kapitan portu prowadził księgę, do której wpisywano każdy statek wraz z datą przybycia, nazwiskiem "
    "kapitana i rodzajem ładunku, a raz do roku przychodzili urzędnicy, aby porównać ją z własnymi zapisami. ",
    "finnish": "Satamapäällikkö piti kirjaa, johon jokainen alus merkittiin saapumispäivän, kapteenin nimen ja lastin "
    "laadun kanssa, ja kerran vuodessa tullin kirjurit tulivat vertaamaan sitä omiin merkintöihinsä. ",
    "turkish": "Liman başkanı, her geminin varış tarihi, kaptanının adı ve yükünün cinsi ile yazıldığı bir defter "
    "tutardı ve yılda bir kez gümrük memurları onu kendi kayıtlarıyla karşılaştırmaya gelirdi. ",
    "russian": "Начальник порта вёл книгу, в которую записывали каждое судно с днём прибытия и именем капитана. ",
    "japanese": "港の長は帳簿をつけており、それぞれの船が到着の日付とともに記されていた。",
    "arabic": "كان رئيس الميناء يحتفظ بسجل تدون فيه كل سفينة مع تاريخ وصولها واسم ربانها ونوع حمولتها",
}


def shifted(text: str, by: int) -> str:
    return "".join(
        chr((ord(letter) - 97 + by) % 26 + 97) if "a" <= letter <= "z" else letter for letter in text.lower()
    )


@pytest.mark.parametrize("text", [ENGLISH, 3 * ENGLISH, GERMAN, 3 * GERMAN, *OTHERS.values(), "Invoice 2031-77"])
def test_real_text_is_sound(text: str):
    assert why_unsound(text) == ""


@pytest.mark.parametrize("by", range(1, 26))
def test_shifted_letters_are_found_out(by: int):
    assert "no language" in why_unsound(shifted(ENGLISH, by))
    assert "no language" in why_unsound(shifted(2 * GERMAN, by))


def test_a_lost_letter_is_found_out_in_longer_english():
    assert why_unsound(3 * ENGLISH.replace("c", "")) == "the letter c is missing from most words"


def test_garbage_is_found_out():
    assert "no meaning" in why_unsound("\ufffd\ue000\ue001" * 20 + "abcdefghijkl")
    assert "no meaning" in why_unsound(ENGLISH.replace("ff", "\x1e").replace("fi", "\x1f").replace("ch", "\x0e"))
    assert why_unsound("#$%&*+" * 30 + "abcdefghij") == "mostly symbols"


def test_line_end_hyphens_and_dot_leaders_are_no_garbage():
    assert why_unsound(ENGLISH.replace("ar", "a\ufffe\r\nr").replace("er", "e\x02\r\nr")) == ""
    assert why_unsound("\n".join(f"Chapter {number} {'.' * 80} {number}" for number in range(20))) == ""


def test_too_little_does_not_stand_for_a_page():
    assert why_unsound("") == "too few letters"
    assert why_unsound("- 12 -") == "too few letters"
    assert why_unsound("あいうえお") == ""
    assert why_unsound("Scanned by the town library", image_share=1.0) == "few letters beside pictures"
    assert why_unsound("Scanned by the town library", image_share=0.1) == ""


def test_letters_of_all_scripts_are_counted():
    assert letters_in("a1 Ж字ß!") == 5
