"""Reasons and warnings of an answer. As a program: prints the table of their codes for docs/CODES.md."""
import pathlib
import re


def texts(answer, key):
    """The sentences of an answer's "reasons" or "warnings"."""
    return [reason["text"] for reason in answer[key] or []]


def left_out(reply):
    """What a reply of Probe lists as not measured: "METRIC WHAT: WHY"."""
    return [" ".join(filter(None, (item["metric"], item["what"]))) + (": " if item["metric"] or item["what"] else "") + item["why"] for item in reply["skipped"] or []]


def codes(answer, key):
    """Their codes."""
    return [reason["code"] for reason in answer[key] or []]


def strings_of(row):
    """The strings of a row: neighbours without a comma between are one."""
    return ["".join(re.findall(r'"((?:[^"\\\\]|\\\\.)*)"', part)) for part in re.findall(r'(?:"(?:[^"\\\\]|\\\\.)*"\s*)+', row)]


def table():
    """The rows of schema/reasons.def in Markdown: code, numbers, meaning."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "schema/reasons.def").read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    rows = []
    for row in re.findall(r"^REASON\((.*?)\)$", text, re.M | re.S):
        code, sentence, about = strings_of(row)
        numbers = [word for word in re.findall(r"{(\w+)}", sentence) if not word.isdigit() and word != "all"]
        rows.append((code, ", ".join(f"`{number}`" for number in numbers), about))
    return "".join(f"| `{code}` | {numbers} | {about} |\n" for code, numbers, about in rows)


if __name__ == "__main__":
    print(table(), end="")
