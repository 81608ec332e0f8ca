# Items of berth.conf(5) from what berthd --check-config prints: a comment and then "key = value" for each.
{ gsub(/\\/, "\\e"); gsub(/-/, "\\-") }
/^# / { about = substr($0, 3); next }
/ = / {
    value = substr($0, index($0, " = ") + 3)
    printf ".It Ic %s%s\n%s\n", $1, value == "" ? "" : " = " value, about
}
