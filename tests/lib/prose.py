#!/usr/bin/env python3
"""Thermometers of the comments in C: prose.py NAME FILE... prints one line for the files together.

Counts "what" per 1,000 words, comments that open with What, Whether, Of, How or As in either case,
and sentences of more than 25 words. A sentence ends with its mark, paragraph, item or label
("Uses:").
"""
import re
import sys

LONG = 25
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|/\*.*?\*/|//[^\n]*', re.DOTALL)
# A sentence may begin with an identifier in lower case, but not behind "e.g.", "1." or "...".
END = re.compile(r"(?<=[.?!])\s+(?=[A-Z])|(?<![\W_][\w.]\.)(?<=\w[.?!])\s+(?=[a-z])"
                 r"|\n\s*\n|\n\s*(?=- |\d+\. |[A-Z][a-z ]+: )")
OPENING = re.compile(r"(what|whether|of|how|as)\b", re.IGNORECASE)
FILE = re.compile(r"[\w/.*-]+\.(c|h|cu|py|sh|def)\b")


def comments(text):
    """The texts of all comments, without their marks and without those for tools (NOLINT)."""
    for token in TOKEN.finditer(text):
        if token.group().startswith("/") and not re.search("NOLINT|cppcheck-suppress",
                                                           token.group()):
            yield re.sub(r"^[ \t]*\* ?", "", token.group().strip("/* \n"), flags=re.MULTILINE)


def words(text):
    """The words of a text. Names of files are not counted: a page of a folder lists them."""
    return re.findall(r"[A-Za-z][\w'-]*", FILE.sub("", text))


def main(name, files):
    """Prints the line."""
    texts = [text for file in files for text in comments(open(file, encoding="utf-8").read())]
    total = sum(len(words(text)) for text in texts)
    whats = sum(word.lower() == "what" for text in texts for word in words(text))
    openings = sum(OPENING.match(text) is not None for text in texts)
    sentences = [sentence for text in texts for sentence in END.split(text)]
    long = sum(len(words(sentence)) > LONG for sentence in sentences)
    opening = 100 * openings / max(len(texts), 1)
    print(f"{name}: what {1000 * whats / max(total, 1):.1f} per 1,000 of {total} words; "
          f"open with What, Whether, Of, How or As {opening:.1f} % of {len(texts)} comments; "
          f"over {LONG} words {long} of {len(sentences)} sentences")


main(sys.argv[1], sys.argv[2:])
