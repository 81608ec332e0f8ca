#!/bin/bash
# The house rules that a machine can check. Needs a finished build in $BUILD; prints one TAP line
# per rule, and thermometers of the comments and of the planner, which cannot fail.
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

# ours [PATTERN...]: the files of the project that match
ours() {
    tests/lib/ours.sh | while IFS= read -r file; do
        [ -f "$file" ] || continue
        [ $# -gt 0 ] || echo "$file"
        # shellcheck disable=SC2254 # the patterns are meant as patterns
        for pattern; do case $file in $pattern) echo "$file" && break ;; esac done
    done
}
code() { ours '*.c' '*.h' '*.sh' '*.py' '*.def' '*.sql' '*.varlink' Makefile .ci/run; }

# Lines "FOLDER USED ...": the folders, and the folders that each may use, by includes and by calls.
# "*": all of its program.
folders=$(tests/lib/folders.sh uses)
declare -A uses # by folder
while read -r folder used; do uses[$folder]=" $used "; done <<<"$folders"

# allows FROM TO: folders of one program, as daemon/plan/bind and daemon/cost
allows() {
    local used=${uses[$1]-}
    [[ $1 == "$2" || $used == *" * "* || $used == *" ${2#*/} "* ]]
}

# Lines "FILE USED": each include of a header of the same program, by path.
find_includes() {
    local program
    for program in daemon client probes; do
        ours "$program/*.[ch]" "$program/*.cu" | xargs grep -HE '^ *# *include *"[a-z0-9_/]+\.h"' |
            sed -E "s|^([^:]*):.*\"(.*)\".*|\1 $program/\2|" |
            while read -r file used; do [ ! -f "$used" ] || echo "$file $used"; done
    done
}

# Objects of files that exist: a build folder keeps those of removed files.
objects() {
    local object file
    find "$BUILD"/obj/{daemon,client,probes} -name '*.o' 2>/dev/null | while IFS= read -r object; do
        file=${object#"$BUILD"/obj/}
        [ ! -e "${file%.o}.c" ] || echo "$object"
    done
}

# Without Slurm's headers its plugin is not built, and without MPI's not its probe.
check_built() {
    local file
    ours 'daemon/*.c' 'client/*.c' 'probes/*.c' | while IFS= read -r file; do
        [ -e "$BUILD/obj/${file%c}o" ] || [ "$file" = client/slurm/spank_berth.c ] ||
            { [[ $file == probes/mpi/* ]] && [ ! -e "$BUILD/bin/berth-probe-mpi" ]; } ||
            echo "$file has no object in $BUILD/obj"
    done
}

# Lines "FILE USED NAME": each name that an object takes of another one of the same program; objects
# by path, without suffix.
find_calls() {
    local program
    for program in daemon client probes; do
        objects | grep "^$BUILD/obj/$program/" | xargs -r nm -gA |
            awk -v cut="$BUILD/obj/" '
            { file = $1; sub(/:.*/, "", file); sub(/\.o$/, "", file); sub(cut, "", file)
              print ($(NF - 1) == "U" || $(NF - 1) == "w" ? "uses" : "has"), $NF, file }
            ' | sort | awk '$1 == "has" { home[$2] = $3 }
                $1 == "uses" && $2 in home && home[$2] != $3 { print $3, home[$2], $2 }'
    done
}

includes=$(find_includes)
calls=$(find_calls)

# between LINES: those of includes or of calls that go from one folder to another, which it may not
# use
between() {
    local file used name from to key last='' verdict=0
    while read -r file used name; do
        echo "${file%/*} ${used%/*} $file $used $name"
    done <<<"$1" | sort | while read -r from to file used name; do
        key="$from $to"
        [ "$key" = "$last" ] || { allows "$from" "$to" && verdict=0 || verdict=1; }
        last=$key
        [ "$verdict" = 0 ] || echo "$file uses $used $name"
    done
}
check_includes() { between "$includes"; }
check_calls() { between "$calls"; }
check_folders() {
    ours 'daemon/*.[ch]' 'client/*.[ch]' 'probes/*.[ch]' 'probes/*.cu' | sed 's|/[^/]*$||' | sort -u |
        while read -r folder; do
            [ -n "${uses[$folder]-}" ] || echo "$folder is not in the table of folders"
        done
}

# The page of a folder is the head of folder/folder.h. It repeats the row of the table, and names
# the headers that other folders may include.
page() {
    awk -v key=" * $2: " 'index($0, key) == 1 { on = 1; print substr($0, length(key) + 1); next }
        on && /^ \*   / { print substr($0, 6); next } { on = 0 }' "$1/${1##*/}.h" | paste -sd ' '
}
check_pages() {
    local folder used named
    while read -r folder used; do
        case $folder in daemon | client) continue ;; esac
        [ -e "$folder/${folder##*/}.h" ] || { echo "$folder has no ${folder##*/}.h" && continue; }
        case $used in '') used=nobody ;; '*') used='all of its program' ;; esac
        named=$(page "$folder" Uses)
        [ "$named" = "$used" ] ||
            echo "$folder/${folder##*/}.h names $named as used, the table $used"
    done < <(sed '/^$/d; s/  */ /g' <<<"$folders")
}
check_public() {
    local file used folder last='' public=''
    awk '{ f = $1; u = $2; sub("/[^/]*$", "", f); sub("/[^/]*$", "", u)
        if (f != u) print u, $1, $2 }' <<<"$includes" | sort | while read -r folder file used; do
        [ "$folder" = "$last" ] ||
            { last=$folder && public=" $(page "$folder" 'Public headers') "; }
        [[ $public == *" ${used##*/} "* ]] ||
            echo "$file includes $used, which $folder keeps to itself"
    done
}

check_picture() {
    diff <(sed -nE '/^\x60{3}folders$/,/^\x60{3}$/p' docs/ARCHITECTURE.md | sed '1d; $d') \
        <(tests/lib/folders.sh) |
        sed -n 's/^</docs\/ARCHITECTURE.md has:      /p; s/^>/tests\/lib\/folders.sh draws: /p'
}
# Paths of files and folders, with * for any name.
check_named_paths() {
    local document path top='client|daemon|docs|etc|probes|schema|systemd|tests'
    for document in docs/ARCHITECTURE.md CONTRIBUTING.md; do
        grep -oE "(^|[^A-Za-z0-9_./*-])($top)/[A-Za-z0-9_./*-]+" "$document" |
            sed -E 's/^[^a-z]//; s/[.-]+$//' | sort -u | while IFS= read -r path; do
            compgen -G "$path" >/dev/null || echo "$document names $path, and nothing is there"
        done
    done
}

# A header includes no header that leads back to it, and a file calls no file that leads back to it,
# in one folder too.
check_cycles() { grep '\.h .*' <<<"$includes" | tsort 2>&1 >/dev/null | sed 's/^tsort: //'; }
check_circles() {
    awk '{ print $1, $2 }' <<<"$calls" | sort -u | tsort 2>&1 >/dev/null | sed 's/^tsort: //'
}

# The library's header (a pattern of grep), and the files that may include it.
doors='
sqlite3\.h     daemon/store/*
hwloc[./].*h   daemon/discover/backend_hwloc*
mpi(-ext)?\.h  probes/mpi/*
numa(if)?\.h   probes/* client/lib/task/apply.c client/lib/pages.c
uv\.h          daemon/base/log_limit.* daemon/varlink/* daemon/measure/* daemon/serve/claim_* daemon/serve/daemon.h daemon/serve/hwloc_keep.h daemon/main.c
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

# Pure folders know neither JSON, nor the loop, nor the database, nor the clock.
check_pure() {
    ours daemon/{sim,search,cost,plan,health}/'*.[ch]' |
        xargs grep -HnE '^ *# *include *<(jansson|uv|sqlite3|time)\.h>'
}

# The builder fills a snapshot; everybody else reads it. The data model has no field without a type.
check_snapshot() {
    local builders='node/snapshot|cost/derive|measure/(snapshot_builder|baseline_update|history)'
    ours 'daemon/*.[ch]' | grep -vE "^daemon/($builders)\." |
        xargs grep -HnP '(?<!const )struct snapshot \*'
    ours 'daemon/node/*.h' | xargs grep -HnE '^ *(const )?void \*+[a-z_]+;'
    # Its parts neither: nothing is made by the first request, but for the counts of references.
    ours 'daemon/node/*.c' 'daemon/cost/*.c' 'daemon/plan/*.c' | grep -vE '^daemon/node/(snapshot|graph)\.c$' |
        xargs grep -HnE '__atomic_|_Atomic'
}

# TODO is also TAP's word for a known failure, which these print or count.
check_marks() {
    { code && ours '*.md'; } |
        grep -vxE 'tests/((structure|lib/runner|system/runner)\.sh|system/known_cases\.py)' |
        xargs grep -HnwE 'TODO|FIXME|XXX|HACK|TBD'
}

# .data.rel.ro holds constants with addresses in them; the loader makes it read-only. A signal's
# handler reads its data from file scope only. The count of lost lines of the log belongs to the
# process, which has one standard error.
check_state() {
    objects | xargs -r objdump -t | awk '/:     file format / { object = $1 }
        (/ O / && / (\.data|\.bss|\*COM\*)/ && !/\.data\.rel\.ro/ ||
        /\.t(data|bss)/ && $NF !~ /^\./) &&
        !(object ~ /\/store\/log_index\.o:/ && $NF == "inside") &&
        !(object ~ /\/log\.o:/ && $NF ~ /^lost/) { print object, $NF }'
}

# A public name carries its file's name or its folder's, or that of a thing that the file defines,
# so that a reader finds its home. Sets things.
name_things() {
    case $1 in
    node/graph) things="place|link|origin" ;;
    node/values*) things="value|axes" ;;
    discover/discover) things="discovery" ;;
    discover/backend_*) things="${1#*backend_}" ;;
    store/store) things="run" ;;
    serve/*) things="query" ;;
    common/*) things="probe" ;;
    slurm/spank_berth) things="plugin|slurm_spank|spank" ;; # names that Slurm looks for
    *) things="main" ;;
    esac
}
check_names() {
    local object name file base last='' words='' things
    objects | xargs -r nm -gA --defined-only | sed -E 's/:.* / /' | while read -r object name; do
        if [ "$object" != "$last" ]; then
            last=$object file=${object%.o}
            file=${file#*/obj/*/}
            name_things "$file"
            base=${file##*/}
            words="${file//\//|}|${base%%_*}|$things"
        fi
        [[ $name == berth_* || $name =~ (^|_)($words)(_|$) ]] || echo "$file: $name"
    done
}

# A source file says its purpose first, or its own header does.
check_purpose() {
    local file named start
    ours 'daemon/*.c' 'client/*.c' 'probes/*.c' | while IFS= read -r file; do
        for named in "$file" "${file%c}h"; do
            start=''
            [ ! -e "$named" ] || read -r start <"$named"
            [[ $start != '/*'* ]] || break
        done
        [[ $start == '/*'* ]] || echo "$file opens without a comment, and so does its header"
    done
}

check_exports() {
    local exported listed declared
    [ -e "$BUILD/lib/libberth.so" ] || { echo "$BUILD/lib/libberth.so is not built" && return; }
    exported=$(nm -D --defined-only "$BUILD"/lib/libberth.so |
        awk '{ sub(/@.*/, "", $NF); print $NF }' | grep -v '^LIBBERTH' | sort -u)
    listed=$(sed 's/#.*//' client/lib/libberth.sym | grep -oE '\bberth_[a-z0-9_]+' | sort -u)
    declared=$(sed -nE 's/^BERTH_PUBLIC .*\b(berth_[a-z0-9_]+)\(.*/\1/p' client/lib/berth.h |
        sort -u)
    comm -3 <(echo "$exported") <(echo "$listed") |
        sed 's/^\t\(.*\)/\1 is listed but not exported/; t; s/$/ is exported but not listed/'
    comm -3 <(echo "$exported") <(echo "$declared") |
        sed 's/^\t\(.*\)/\1 is in berth.h but not exported/; t
            s/$/ is exported but not in berth.h/'
}

check_embedded() {
    local file
    [ -e "$BUILD/bin/berthd" ] || { echo "$BUILD/bin/berthd is not built" && return; }
    for file in $(ours 'schema/*.varlink' 'schema/*.sql'); do
        perl -e 'local $/; open F, "<:raw", $ARGV[0]; open B, "<:raw", $ARGV[1];
            $f = <F>; $b = <B>; exit(index($b, $f) < 0)' \
            "$file" "$BUILD/bin/berthd" || echo "$file is not in $BUILD/bin/berthd"
    done
}

# jansson's own loses bytes when memory runs out; see print_tree().
check_printing() { ours 'daemon/*.c' | xargs grep -Hnw json_dumps; }

check_top() {
    local entry
    for entry in $(ours | cut -d/ -f1 | sort -u); do
        case $entry in
        .ci | .clang-format | .clang-tidy | .git-blame-ignore-revs | .gitignore) ;;
        CHANGELOG.md | CONTRIBUTING.md | LICENSE | Makefile | README.md) ;;
        client | daemon | docs | etc | probes | schema | systemd | tests) ;;
        *) echo "$entry" ;;
        esac
    done
}

check_paths() {
    ours | grep -vE '\.xml$|^tests/nodes/|^tests/structure\.sh$' |
        xargs grep -HnIE '(^|[^a-z.])/(work|home|root)/[a-z]'
}

# prose NAME [PATTERN...]: a thermometer is no rule, because a count can be met without a clearer
# comment
prose() {
    local name=$1
    shift
    ours "$@" | grep -vE '^daemon/(sim|search|cost|plan)/' |
        xargs python3 tests/lib/prose.py "# comments of $name"
}

rule "one door per foreign library" check_doors
rule "every source is built" check_built
rule "every folder is in the table" check_folders
rule "a folder includes what it may" check_includes
rule "a folder calls what it may" check_calls
rule "every folder has its page" check_pages
rule "docs/ARCHITECTURE.md shows the folders as they are" check_picture
rule "docs/ARCHITECTURE.md and CONTRIBUTING.md name files that exist" check_named_paths
rule "only public headers are included from elsewhere" check_public
rule "pure folders know no library of the outside" check_pure
rule "only its builder changes a snapshot" check_snapshot
rule "no include leads back" check_cycles
rule "no circle of calls between files" check_circles
rule "no marks of unfinished work" check_marks
rule "no mutable data at file scope" check_state
rule "public names carry the name of their file or folder" check_names
rule "every source file or its header opens with its purpose" check_purpose
rule "libberth exports what its symbol list and its header say" check_exports
rule "every schema file is embedded in the daemon" check_embedded
rule "the daemon prints JSON with print.h" check_printing
rule "nothing stands at the top that does not belong there" check_top
rule "no path of somebody's own machine" check_paths
prose "daemon without its planner" 'daemon/*.[ch]'
prose client 'client/*.[ch]'
prose probes 'probes/*.[ch]' 'probes/*.cu'
python3 tests/lib/planner_size.py
echo "1..$number"
exit $broken
