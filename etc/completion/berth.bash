# shellcheck shell=bash
# _berth_reply WORD...: those that the current word begins.
_berth_reply() {
    local word
    for word; do [[ $word != "$cur"* ]] || COMPREPLY+=("$word"); done
}

# _berth_several WORD...: the same for what stands between commas.
_berth_several() {
    local before='' word
    [[ $cur != *,* ]] || before=${cur%,*},
    for word; do [[ $before$word != "$cur"* ]] || COMPREPLY+=("$before$word"); done
}

_berth() {
    local cur=${COMP_WORDS[COMP_CWORD]} before=("${COMP_WORDS[@]:1:COMP_CWORD-1}") what first kind
    COMPREPLY=()
    [ "$cur" != = ] || { before+=("=") && cur=''; }
    what=$(_berth_what "$cur" "${before[@]}")
    # shellcheck disable=SC2086,SC2046 # what the tables say are words
    case $what in
    program\ *)
        first=$((${what#program } + 1)) kind=-f
        [ "$COMP_CWORD" != "$first" ] || kind=-c
        if declare -F _command_offset >/dev/null; then
            _command_offset "$first"
        else
            mapfile -t COMPREPLY < <(compgen $kind -- "$cur") && compopt -o filenames 2>/dev/null
        fi
        ;;
    words\ *) _berth_reply ${what#words } ;;
    list\ *) _berth_several ${what#list } ;;
    files) mapfile -t COMPREPLY < <(compgen -f -- "$cur") && compopt -o filenames 2>/dev/null ;;
    folders) mapfile -t COMPREPLY < <(compgen -d -- "$cur") && compopt -o filenames 2>/dev/null ;;
    commands) _berth_reply $(_berth_commands | cut -f 1) ;;
    options*) _berth_reply $({ _berth_options "${what#options }" && _berth_options ''; } | cut -f 1 | sort -u) ;;
    metrics) _berth_reply $(_berth_metrics) ;;
    places*) _berth_several $(_berth_places ${what#places}) ;;
    esac
}
complete -F _berth berth
