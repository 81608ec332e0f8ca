#!/usr/bin/env python3
"""Length of a guide and of its sentences. sentences.py FILE...: a line for each, then its longest sentences.

Words of the whole file are counted as `wc -w` does. Code blocks have no sentences. A list item, a
heading and a cell of a table end a sentence; cells count for the longest one only.
"""
import re
import sys

END = re.compile(r"(?<=[.?!])[\"')*`]*\s+(?=[\"'(*`\[]*[A-Z0-9`/]|\*\*)")
ITEM = re.compile(r"^\s*(?:[-*] |\d\. )")


def plain(text):
    """Text without links' targets, anchors and marks; what backquotes enclose is one word."""
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"<a id=[^>]*></a>", "", text)
    return re.sub(r"`[^`]+`", lambda quoted: "X." if quoted[0].endswith(".`") else "X", text)


def split(text):
    """The sentences of a paragraph as lists of words."""
    return [words for words in (re.findall(r"[^\W_][\w.,'/%-]*", sentence) for sentence in END.split(plain(text))) if words]


def sentences(text):
    """(sentences of prose and list items, those of tables' cells)."""
    text = re.sub(r"^[ ]*```.*?^[ ]*```", "\n", text, flags=re.S | re.M)
    prose, cells, paragraph = [], [], []
    for line in text.splitlines() + [""]:
        is_end = not line.strip() or line.startswith(("#", "|")) or ITEM.match(line)
        if is_end and paragraph:
            prose += split(" ".join(paragraph))
            paragraph = []
        if line.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", line.strip("|")):
                cells += split(cell)
        elif line.strip() and not line.startswith("#"):
            paragraph.append(ITEM.sub("", line, count=1).strip())
    return prose, cells


def measured(text):
    """(words, words a sentence on average, the sentences longest first)."""
    prose, cells = sentences(text)
    average = sum(map(len, prose)) / max(len(prose), 1)
    return len(text.split()), average, sorted(prose + cells, key=len, reverse=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        count, mean, longest = measured(open(name, encoding="utf-8").read())
        print(f"{name}: {count} words, {mean:.1f} a sentence, longest {len(longest[0])}")
        for sentence in longest:
            if len(sentence) > 35:
                print(f"  {len(sentence)}: {' '.join(sentence)[:110]}")
