_berth_described() {
    local -a rows
    rows=("${(@f)$(sed -e '/^$/d' -e 's/:/\\:/g' -e 's/\t/:/')}")
    _describe -t "$1" "$1" rows
}

_berth() {
    local what skipped
    local -a before found
    before=("${(@)words[2,CURRENT-1]}")
    if [[ $words[CURRENT] == --*=* ]]; then
        before+=("${words[CURRENT]%%=*}")
        compset -P 1 '*='
    fi
    what=$(_berth_what "$words[CURRENT]" "${before[@]}")
    case $what in
    program\ *)
        skipped=$((${what#program } + 1))
        shift "$skipped" words
        CURRENT=$((CURRENT - skipped))
        _normal
        ;;
    words\ *) found=(${=what#words }) && compadd -a found ;;
    list\ *) found=(${=what#list }) && compset -P '*,'; compadd -a found ;;
    files) _files ;;
    folders) _files -/ ;;
    commands) _berth_commands | _berth_described command ;;
    options*) { _berth_options "${what#options }"; _berth_options ''; } | _berth_described option ;;
    metrics) found=(${=$(_berth_metrics)}) && compadd -a found ;;
    places*) found=(${=$(_berth_places ${=what#places})}) && compset -P '*,'; compadd -a found ;;
    esac
}

if [ "${funcstack[1]}" = _berth ]; then _berth "$@"; else compdef _berth berth; fi
