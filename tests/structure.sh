#!/bin/bash
# The house rules that a machine can check. Needs a finished build in $BUILD; prints one TAP line per rule.
set -u
cd "$(dirname "$0")/.." || exit 70
BUILD=${BUILD:-build}
number=0 broken=0

# rule NAME COMMAND...: passes when the command prints nothing; what it prints are the violations
rule() {
    local name=$1 found
    shift
    found=$("$@" 2>&1)
    number=$((number + 1))
    if [ -z "$found" ]; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        while IFS= read -r line; do echo "#   $line"; done <<<"$found"
        broken=1
    fi
}

# ours [PATTERN...]: the files of the project that match, whether this is a clone or an unpacked tarball
ours() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard -- "$@"
    else
        find . -path ./build -prune -o -type f -print | cut -c3-
    fi | while IFS= read -r file; do
        [ -f "$file" ] || continue
        [ $# -gt 0 ] || echo "$file"
        # shellcheck disable=SC2254 # the patterns are meant as patterns
        for pattern; do case $file in $pattern) echo "$file" && break ;; esac done
    done
}
code() { ours '*.c' '*.h' '*.sh' '*.py' '*.def' '*.sql' '*.varlink' Makefile .ci/run; }

# The library's header (a pattern of grep), and the files that may include it.
doors='
sqlite3\.h     daemon/store*
hwloc[./].*h   daemon/backend_hwloc*
numa(if)?\.h   probes/* client/lib_apply.c
uv\.h          daemon/server* daemon/conn* daemon/log_limit.* daemon/outbox.* daemon/sched* daemon/claim_watch.* daemon/claim_keep.* daemon/runner* daemon/daemon.* daemon/berthd.c
'
check_doors() {
    local header allowed line pattern inside files
    mapfile -t files < <(ours 'daemon/*.[ch]' 'client/*.[ch]' 'probes/*.[ch]')
    while read -r header allowed; do
        grep -HnE "^ *# *include *<$header>" "${files[@]}" | while IFS= read -r line; do
            inside=no
            set -f
            # shellcheck disable=SC2053 # the patterns are meant as patterns
            for pattern in $allowed; do [[ ${line%%:*} != $pattern ]] || inside=yes; done
            set +f
            [ "$inside" = yes ] || echo "$line"
        done
    done < <(sed '/^$/d' <<<"$doors")
}

# Who may not include what: files, and a pattern of headers.
downward='
daemon/plan*        jansson|uv|sqlite3|time|(server|conn|sched|runner|store|query|daemon|method|clock|sysio)[a-z_]*
daemon/judge*       jansson|uv|sqlite3|time|(server|conn|sched|runner|store|query|daemon|method|clock|sysio)[a-z_]*
daemon/claim_set    jansson|uv|sqlite3|time|(server|conn|sched|runner|store|query|daemon|method|clock|sysio)[a-z_]*
daemon/curve*       (server|conn|sched|runner|store|query|daemon|method)[a-z_]*
daemon/snapshot*    (server|conn|sched|runner|store|query|daemon|method)[a-z_]*
daemon/past*        (server|conn|sched|runner|query|daemon|method)[a-z_]*
daemon/accept*      (server|conn|sched|runner|query|daemon|method)[a-z_]*
daemon/backend*     (server|conn|sched|runner|query|daemon|method|plan|store)[a-z_]*
daemon/discover*    (server|conn|sched|runner|query|daemon|method|plan|store)[a-z_]*
daemon/store*       (server|conn|sched|runner|query|daemon|method|plan|discover|backend)[a-z_]*
daemon/server*      (sched|runner|discover|backend|store|query)[a-z_]*
daemon/conn*        (sched|runner|discover|backend|store|query)[a-z_]*
daemon/graph*       (values|snapshot|record|plan|store|query|method|server|discover|backend)[a-z_]*
'
check_downward() {
    local files headers file
    while read -r files headers; do
        for file in $(ours "$files.[ch]"); do grep -HnE "^ *# *include *[<\"]($headers)\.h" "$file"; done
    done < <(sed '/^$/d' <<<"$downward")
}

# A module is x.c and x.h together: no chain of includes leads from a module back to itself. That x_part sees x.h does
# not count, because the parts of a family together are what its header promises.
check_cycles() {
    local directory file module used
    for directory in daemon client probes; do
        ours "$directory/*.[ch]" | xargs grep -HE '^ *# *include *"[a-z0-9_]+\.h"' | sed -E 's/:.*"(.*)\.h".*/ \1/' | while read -r file used; do
            module=${file##*/} module=${module%.*}
            # client/berth.h is the library's; client/berth.c is the command
            [[ ${module}_ == ${used}_* || $directory/$used == client/berth ]] || echo "$used $module"
        done | tsort 2>&1 >/dev/null | sed "s|^tsort: |$directory: |"
    done
}

# What one file calls of another, and so on, does not lead back to it, also within a family.
check_circles() {
    local directory
    for directory in daemon client probes; do
        nm -gA "$BUILD/obj/$directory"/*.o | awk '
            { file = $1; sub(/:.*/, "", file); sub(/\.o$/, "", file); sub(/.*\//, "", file); print ($(NF - 1) == "U" || $(NF - 1) == "w" ? "uses" : "has"), $NF, file }
            ' | sort | awk '$1 == "has" { home[$2] = $3 } $1 == "uses" && $2 in home { print $3, home[$2] }' |
            sort -u | tsort 2>&1 >/dev/null | sed "s|^tsort: |$directory: |"
    done
}

check_length() {
    code | xargs wc -l | awk '$2 != "total" && $1 > 500 { print $2 " has " $1 " lines" }'
}

check_marks() {
    { code && ours '*.md'; } | grep -vx tests/structure.sh | xargs grep -HnwE 'TODO|FIXME|XXX|HACK|TBD'
}

objects() { find "$BUILD/obj/daemon" "$BUILD/obj/client" "$BUILD/obj/probes" -name '*.o' 2>/dev/null; }

# .data.rel.ro holds constants with addresses in them; the loader makes it read-only. What a signal's handler must know is nowhere else to be had,
# and lines of the log are lost by the process, which has one standard error.
check_state() {
    objects | xargs objdump -t | awk '/:     file format / { object = $1 }
        / O / && / (\.data|\.bss|\.tdata|\.tbss|\*COM\*)/ && !/\.data\.rel\.ro/ && !(object ~ /\/store_index\.o:/ && $NF == "inside") &&
        !(object ~ /\/log\.o:/ && $NF ~ /^lost/) { print object, $NF }'
}

# The words that the public names of a module begin with: its own name, its family's (plan for plan_route), and for a
# header that defines several things the names of those.
words() {
    case $1 in
    graph*) echo "graph|place|link|origin" ;;
    values*) echo "values|value|axes" ;;
    discover*) echo "discover|discovery" ;;
    backend_*) echo "backend|${1#backend_}" ;;
    store*) echo "store|run" ;;
    spank_berth) echo "plugin|slurm_spank|spank" ;; # names that Slurm looks for
    *) echo "$1|${1%%_*}" ;;
    esac
}
check_names() {
    local object name module=none allowed
    objects | xargs nm -gA --defined-only | sed -E 's/:.* / /' | while read -r object name; do
        object=${object##*/} object=${object%.o}
        [ "$object" = "$module" ] || { module=$object && allowed=$(words "$module"); }
        [[ $name =~ ^(main|($allowed)(_.*)?|berth_.*)$ ]] || echo "$module: $name"
    done
}

check_exports() {
    local exported listed declared
    [ -e "$BUILD/lib/libberth.so" ] || { echo "$BUILD/lib/libberth.so is not built" && return; }
    exported=$(nm -D --defined-only "$BUILD"/lib/libberth.so | awk '{ sub(/@.*/, "", $NF); print $NF }' | grep -v '^LIBBERTH' | sort -u)
    listed=$(sed 's/#.*//' client/libberth.sym | grep -oE '\bberth_[a-z0-9_]+' | sort -u)
    declared=$(sed -nE 's/^BERTH_PUBLIC .*\b(berth_[a-z0-9_]+)\(.*/\1/p' client/berth.h | sort -u)
    comm -3 <(echo "$exported") <(echo "$listed") | sed 's/^\t\(.*\)/\1 is listed but not exported/; t; s/$/ is exported but not listed/'
    comm -3 <(echo "$exported") <(echo "$declared") | sed 's/^\t\(.*\)/\1 is in berth.h but not exported/; t; s/$/ is exported but not in berth.h/'
}

check_embedded() {
    local file
    [ -e "$BUILD/bin/berthd" ] || { echo "$BUILD/bin/berthd is not built" && return; }
    for file in $(ours 'schema/*.varlink' 'schema/*.sql'); do
        perl -e 'local $/; open F, "<:raw", $ARGV[0]; open B, "<:raw", $ARGV[1]; $f = <F>; $b = <B>; exit(index($b, $f) < 0)' \
            "$file" "$BUILD/bin/berthd" || echo "$file is not in $BUILD/bin/berthd"
    done
}

# jansson's own loses bytes when memory runs out; see print_tree().
check_printing() { ours 'daemon/*.c' | xargs grep -Hnw json_dumps; }

check_top() {
    local entry
    for entry in $(ours | cut -d/ -f1 | sort -u); do
        case $entry in
        .ci | .clang-format | .clang-tidy | .gitignore | CHANGELOG.md | CONTRIBUTING.md | LICENSE | Makefile | README.md) ;;
        client | daemon | docs | etc | probes | schema | systemd | tests) ;;
        *) echo "$entry" ;;
        esac
    done
}

check_paths() {
    ours | grep -vE '\.xml$|^tests/nodes/|^tests/structure\.sh$' | xargs grep -HnIE '(^|[^a-z.])/(work|home|root)/[a-z]'
}

rule "one door per foreign library" check_doors
rule "includes point down" check_downward
rule "no include cycle between modules" check_cycles
rule "no circle of calls between files" check_circles
rule "no file of ours has more than 500 lines" check_length
rule "no marks of unfinished work" check_marks
rule "no mutable data at file scope" check_state
rule "public names start with their module's name" check_names
rule "libberth exports what its symbol list and its header say" check_exports
rule "every schema file is embedded in the daemon" check_embedded
rule "the daemon prints JSON with print.h" check_printing
rule "nothing stands at the top that does not belong there" check_top
rule "no path of somebody's own machine" check_paths
echo "1..$number"
exit $broken
