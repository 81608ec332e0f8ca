# shellcheck shell=bash
# Goes behind the tables of `berth help --as completion`, for bash and zsh alike.

# _berth_what CURRENT WORD...: what may stand behind these words of the line where CURRENT has begun: commands, options and of which command, words ...,
# list ..., files, folders, metrics, places and who knows them, program and how many of the words stand before it, or nothing.
_berth_what() {
    local word command='' option='' operands=0 seen=0 value from='' current=$1 only_operands=''
    shift
    for word; do
        seen=$((seen + 1))
        if [ -n "$option" ]; then
            [ "$word" != "=" ] || continue
            case $option in --socket | --node) from="$option $word" ;; esac
            option=''
            continue
        fi
        case $only_operands$word in
        --)
            only_operands=yes
            [ "$command" != exec ] || { echo "program $seen" && return; }
            ;;
        --*=*) ;;
        -?*)
            value=$(_berth_value "$command" "$word")
            [ -z "$value" ] || option=$word
            ;;
        *)
            [ "$command" != exec ] || { echo "program $((seen - 1))" && return; }
            if [ -z "$command" ]; then command=$word; else operands=$((operands + 1)); fi
            ;;
        esac
    done
    if [ -n "$option" ]; then
        value=$(_berth_value "$command" "$option")
    else
        case $only_operands$current in
        -*) value="options $command" ;;
        *) if [ -z "$command" ]; then value=commands; elif [ "$command" = exec ]; then value="program $seen"; else value=$(_berth_operand "$command" "$operands"); fi ;;
        esac
    fi
    case $value in
    '') echo nothing ;;
    places) echo "places $from" ;;
    *) echo "$value" ;;
    esac
}

# _berth_places [--socket PATH | --node FOLDER]: the names of all places, none when nobody answers.
_berth_places() {
    berth --json "$@" topo 2>/dev/null | tr '{,' '\n' | sed -n 's/^ *"name": *"\([a-z]*[0-9][0-9]*\)".*/\1/p' | sort -u
}
