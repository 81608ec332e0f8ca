# The functions of berth.h: lines of NAME with -v names=1, else their prototypes in mdoc(7), under the headings of the header.
function prototype(text,   name, result, count, i, arguments) {
    gsub(/[ \t]+/, " ", text)
    match(text, /berth_[a-z0-9_]+\(/)
    name = substr(text, RSTART, RLENGTH - 1)
    result = substr(text, 1, RSTART - 1)
    sub(/^ /, "", result); sub(/ $/, "", result)
    text = substr(text, RSTART + RLENGTH)
    sub(/\)[^)]*$/, "", text)
    if (names) {
        printf ".Nm %s ,\n", name
        return
    }
    if (heading != "") print ".Ss " heading
    heading = ""
    printf ".Ft \"%s\"\n.Fo %s\n", result, name
    count = split(text, arguments, /, */)
    for (i = 1; i <= count; i++) printf ".Fa \"%s\"\n", arguments[i]
    print ".Fc"
}
/^\/\* ---- .* ---- \*\/$/ { heading = toupper(substr($0, 9, 1)) substr($0, 10, length($0) - 17) }
/^BERTH_PUBLIC / { inside = 1; text = ""; sub(/^BERTH_PUBLIC /, "") }
inside { text = text " " $0 }
inside && /;/ { sub(/;.*/, "", text); prototype(text); inside = 0 }
